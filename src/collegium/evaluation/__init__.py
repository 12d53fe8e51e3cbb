"""What a run showed: success, steps, RPP and cost with intervals; tables, figures, the report.

A run directory is evaluated from these tables: `EPISODES` (one row a `core.Episode`), and where the
pipeline wrote them `FAILED_ATTEMPTS` and `UNFINISHED_ATTEMPTS` (what was spent on attempts that are
no episode), `GROWTH` (one `GrowthRow` a partition) and `REFERENCES` (rows measured elsewhere). Each
row has a `key` besides its record's fields, as all rows do.
"""

from collegium.evaluation.growth import GROWTH, GrowthRow, corpus_growth
from collegium.evaluation.outcomes import (
    EPISODES,
    FAILED_ATTEMPTS,
    UNFINISHED_ATTEMPTS,
    LostAttempt,
    read_episodes,
    read_lost_attempts,
)
from collegium.evaluation.records import REFERENCES, Reference, Summary
from collegium.evaluation.summary import summarise

__all__ = [
    "EPISODES",
    "FAILED_ATTEMPTS",
    "GROWTH",
    "REFERENCES",
    "UNFINISHED_ATTEMPTS",
    "GrowthRow",
    "LostAttempt",
    "Reference",
    "Summary",
    "corpus_growth",
    "read_episodes",
    "read_lost_attempts",
    "summarise",
]
