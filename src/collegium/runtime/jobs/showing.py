"""Results of the jobs, on a console."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from collegium.evaluation.analyses.study import Study
from collegium.evaluation.analyses.tables import study_tables
from collegium.evaluation.rendering import to_rich
from collegium.experience.credit import CreditRow
from collegium.ranking.card import Bounds, OrderQuality
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
    console.print(_credits(made.credits))


def _credits(credits: Sequence[CreditRow]) -> Table:
    table = Table("producer", "labels", "questions", "credit", "95 % interval")
    for row in credits:
        ends = [_or_blank(end, "+.3f") for end in (row.low, row.high)]
        between = " to ".join(ends) if all(ends) else ""
        table.add_row(
            row.key, f"{row.labels:,}", f"{row.questions:,}", f"{row.credit:+.3f}", between
        )
    return table


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
        if reason := row.refused or row.useless:
            kept = "is of no use, but kept" if row.useless else "is refused"
            console.print(f"{row.key} {kept}: {reason}", markup=False, highlight=False)
    gains = {row.key: row.advantage for row in trained.rankers}
    table = Table("order", "NDCG", "label of the first", "NDCG over random", "over similarity")
    for name, order in _orders(trained):
        cells = (_or_blank(order.ndcg, ".3f"), _or_blank(order.top_label, "+.4f"))
        gain = gains.get(name)
        ends = () if gain is None else (_told(gain.over_random), _told(gain.over_similarity))
        table.add_row(name, *cells, *ends)
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


def _told(bounds: Bounds) -> str:
    """Return the value with its interval."""
    ends = (_or_blank(end, "+.3f") for end in (bounds.low, bounds.high))
    return f"{bounds.value:+.3f} ({' to '.join(ends)})"


def _or_blank(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def show_study(study: Study, console: Console) -> None:
    """Print every table of the analyses, and the findings as lines."""
    for table in study_tables(study)[1:]:
        console.print(to_rich(table))
    for found in study.findings:
        line = f"• {found.verdict}: {found.claim}. {found.here} (paper: {found.paper})"
        console.print(line, markup=False, highlight=False)
