"""What a run showed: success, steps, RPP and cost with intervals; tables, figures, the report.

A run directory is evaluated from three tables: `EPISODES` (one row a `core.Episode`), and where the
pipeline wrote them `GROWTH` (one `GrowthRow` a partition) and `REFERENCES` (rows measured
elsewhere). Each row has a `key` besides its record's fields, as all rows do.
"""

from collegium.evaluation.growth import GROWTH, GrowthRow, corpus_growth
from collegium.evaluation.outcomes import EPISODES, read_episodes
from collegium.evaluation.records import REFERENCES, Reference, Summary
from collegium.evaluation.summary import summarise

__all__ = [
    "EPISODES",
    "GROWTH",
    "REFERENCES",
    "GrowthRow",
    "Reference",
    "Summary",
    "corpus_growth",
    "read_episodes",
    "summarise",
]
