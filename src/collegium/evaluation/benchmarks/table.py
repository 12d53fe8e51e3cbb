"""A benchmark's result as a table for people."""

from rich.console import Console
from rich.table import Table

from collegium.evaluation.benchmarks.result import BenchResult, Target


def show(result: BenchResult, console: Console) -> None:
    """Print figures, targets and notes of `result`."""
    verdict = "meets its targets" if result.meets else "misses a target"
    table = Table(title=f"bench {result.bench}: {verdict}")
    table.add_column("figure")
    table.add_column("measured", justify="right")
    table.add_column("target", justify="right")
    table.add_column("met")
    for name, figure in result.figures.items():
        target = result.targets.get(name)
        met = "" if target is None else "yes" if target.is_met(figure) else "no"
        table.add_row(name, _number(figure), _range(target), met)
    console.print(table)
    for note in result.notes:
        console.print(note, markup=False)


def _number(figure: float | None) -> str:
    if figure is None:
        return "not measured"
    return f"{figure:,.0f}" if figure >= 1000 else f"{figure:.3g}"


def _range(target: Target | None) -> str:
    if target is None:
        return ""
    bounds = ((">=", target.min), ("<=", target.max))
    return " ".join(f"{sign} {bound:,g}" for sign, bound in bounds if bound is not None)
