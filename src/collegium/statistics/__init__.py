"""Paired bootstrap by cluster, intervals, exact tests and diversity: pure functions on arrays."""

from collegium.statistics.bootstrap import ClusterBootstrap
from collegium.statistics.diversity import effective_number, inverse_simpson
from collegium.statistics.intervals import Interval
from collegium.statistics.proportions import mcnemar_exact, paired_difference, wilson_interval

__all__ = [
    "ClusterBootstrap",
    "Interval",
    "effective_number",
    "inverse_simpson",
    "mcnemar_exact",
    "paired_difference",
    "wilson_interval",
]
