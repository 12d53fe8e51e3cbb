"""Results of the jobs, on a console."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from collegium.evaluation.analyses.study import Study
from collegium.evaluation.analyses.tables import study_tables
from collegium.evaluation.rendering import to_rich
from collegium.ranking.card import OrderQuality
from collegium.runtime.jobs.build_memory import MemoryBuilt
from collegium.runtime.jobs.label_utility import LabelledMemory
from collegium.runtime.jobs.train_agents import TrainedAgents
from collegium.runtime.jobs.train_rerankers import TrainedRankers


def show_memory(built: MemoryBuilt, console: Console) -> None:
    """Print how the memory grew."""
    grown = ", ".join(f"D{p} {chunks:,}" for p, chunks in enumerate(built.chunks_by_partition))
    console.print(
        f"{built.trajectories:,} trajectories stored; chunks by partition: {grown}",
        markup=False,
        highlight=False,
    )


def show_labels(made: LabelledMemory, console: Console) -> None:
    """Print how the memory grew and what guidance changed."""
    show_memory(made.memory, console)
    console.print(f"{made.points:,} branching points, {made.skipped:,} skipped")
    table = Table("against", "better", "same", "worse")
    for name, counts in (("the baseline", made.labels), ("the control", made.paired)):
        table.add_row(name, *(f"{counts[sign]:,}" for sign in ("better", "same", "worse")))
    console.print(table)


def show_adapters(trained: TrainedAgents, console: Console) -> None:
    """Print what each adapter was trained on and what it solved."""
    table = Table("adapter", "tokens", "final loss", "solved, games set aside")
    for card in trained.adapters:
        share = card.benchmarks.get("all")
        solved = "not measured" if share is None else f"{share:.0%}"
        table.add_row(card.name, f"{card.tokens:,}", str(card.final_loss), solved)
    console.print(table)


def show_rankers(trained: TrainedRankers, console: Console) -> None:
    """Print how each ranker orders held-out groups, beside orders that need no training."""
    counts = trained.rankers[0].groups
    console.print(
        f"{counts.labels:,} labels ({counts.helped:,} helped, {counts.hurt:,} hurt) in "
        f"{counts.groups:,} groups of {counts.questions:,} questions; in {counts.all_equal:,} "
        f"groups all labels are equal; {counts.left_out:,} with one candidate are left out",
        highlight=False,
    )
    for row in trained.rankers:
        if row.refused:
            console.print(f"{row.key} is of no use: {row.refused}", markup=False, highlight=False)
    table = Table("order", "NDCG", "label of the first")
    for name, order in _orders(trained):
        table.add_row(name, _or_blank(order.ndcg, ".3f"), _or_blank(order.top_label, "+.4f"))
    console.print(table)


def _orders(trained: TrainedRankers) -> Iterator[tuple[str, OrderQuality]]:
    """Yield each ranker's order over all questions, then what needs no training."""
    untrained: dict[str, OrderQuality] = {}
    for row in trained.rankers:
        if (measured := row.cross_validated) is None:
            continue
        yield row.key, measured.ranker
        which = f"{row.target} labels{', showing nothing last' if row.null_candidate else ''}"
        untrained[f"similarity: {which}"] = measured.similarity
        untrained[f"random: {which}"] = measured.random
    yield from untrained.items()


def _or_blank(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def show_study(study: Study, console: Console) -> None:
    """Print every table of the analyses, and the findings as lines."""
    for table in study_tables(study)[1:]:
        console.print(to_rich(table))
    for found in study.findings:
        line = f"• {found.verdict}: {found.claim}. {found.here} (paper: {found.paper})"
        console.print(line, markup=False, highlight=False)
