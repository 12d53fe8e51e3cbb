"""What a run showed: success, steps, RPP and cost with intervals; tables, figures, the report."""

from collegium.evaluation.growth import GrowthRow, corpus_growth
from collegium.evaluation.outcomes import read_episodes
from collegium.evaluation.records import Reference, Summary
from collegium.evaluation.summary import summarise

__all__ = [
    "GrowthRow",
    "Reference",
    "Summary",
    "corpus_growth",
    "read_episodes",
    "summarise",
]
