"""The benchmarks by name."""

from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collegium.evaluation.benchmarks import BenchResult


class Benchmark(StrEnum):
    """What can be measured; each is a module of `evaluation.benchmarks` with a `run`."""

    BRANCHING = "branching"
    """Futures from a copied state against the same futures from a reset."""
    FEATURES = "features"
    """Features and scores of 20 candidates."""
    HOUSEHOLD = "household"
    """Speed and exactness of the household engine."""
    LEDGER = "ledger"
    """Appending to the ledger and verifying it."""
    RETRIEVAL = "retrieval"
    """The retrieval endpoint beside an application that does nothing, and its search."""
    ROLLOUTS = "rollouts"
    """Our loop of many episodes on one engine against the bare engine."""
    SERVE = "serve"
    """Reading and contributing over HTTP beside an application that does nothing."""


_SERVED = (Benchmark.RETRIEVAL, Benchmark.SERVE)


def run_benchmark(benchmark: Benchmark) -> "BenchResult":
    """Measure and judge; raises what the benchmark raises when something it needs is not there."""
    if benchmark in (Benchmark.LEDGER, *_SERVED):
        from collegium.store.settings import require_store

        require_store()
    if benchmark in _SERVED:
        from collegium.service.extras import require_serve

        require_serve()
    module = import_module(f"collegium.evaluation.benchmarks.{benchmark.value}")
    result: BenchResult = module.run()
    return result
