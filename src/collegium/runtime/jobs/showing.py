"""Results of the jobs, on a console."""

from rich.console import Console

from collegium.evaluation import Summary
from collegium.evaluation.findings import findings
from collegium.evaluation.rendering import to_rich
from collegium.evaluation.tables import tables
from collegium.runtime.jobs.build_memory import MemoryBuilt


def show_summary(summary: Summary, console: Console) -> None:
    """Print what an evaluation found, in sentences and tables."""
    for table in tables(summary):
        console.print(to_rich(table))
    for finding in findings(summary):
        console.print(f"• {finding}", markup=False, highlight=False)


def show_memory(built: MemoryBuilt, console: Console) -> None:
    """Print how the memory grew."""
    grown = ", ".join(f"D{p} {chunks:,}" for p, chunks in enumerate(built.chunks_by_partition))
    console.print(
        f"{built.trajectories:,} trajectories stored; chunks by partition: {grown}",
        markup=False,
        highlight=False,
    )
