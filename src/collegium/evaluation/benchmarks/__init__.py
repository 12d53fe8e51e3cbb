"""Benchmarks: each module has a `run` that gives a `BenchResult`; `show` prints one."""

from collegium.evaluation.benchmarks.result import BenchResult, Target
from collegium.evaluation.benchmarks.table import show

__all__ = ["BenchResult", "Target", "show"]
