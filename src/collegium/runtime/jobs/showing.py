"""Results of the jobs, on a console."""

from rich.console import Console

from collegium.runtime.jobs.build_memory import MemoryBuilt


def show_memory(built: MemoryBuilt, console: Console) -> None:
    """Print how the memory grew."""
    grown = ", ".join(f"D{p} {chunks:,}" for p, chunks in enumerate(built.chunks_by_partition))
    console.print(
        f"{built.trajectories:,} trajectories stored; chunks by partition: {grown}",
        markup=False,
        highlight=False,
    )
