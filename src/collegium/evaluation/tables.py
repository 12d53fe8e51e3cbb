"""The tables of an evaluation, as data: terminal, Markdown and HTML draw the same cells.

Rows of the paper are labelled "paper" and carry no interval: they are for orientation, measured on
another population.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from collegium.core import StopReason
from collegium.evaluation import formats
from collegium.evaluation.formats import Written, written
from collegium.evaluation.records import (
    TOLERATED_LOSS,
    ArmSummary,
    Estimate,
    GroupSummary,
    Judged,
    Reference,
    Summary,
)


class Column(NamedTuple):
    """A column's heading and what it means."""

    title: str
    meaning: str = ""
    numeric: bool = True


class Table(NamedTuple):
    """A titled table; each row has one cell a column."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Written, ...], ...]
    note: str = ""


def tables(summary: Summary) -> tuple[Table, ...]:
    """Return every table that the summary has rows for, the result table first."""
    candidates = (
        result_table(summary),
        gate_table(summary.gate),
        cost_table(summary),
        ending_table(summary),
        task_type_table(summary),
        consumer_table(summary),
        growth_table(summary),
        producer_table(summary),
    )
    return tuple(table for table in candidates if table.rows)


def result_table(summary: Summary) -> Table:
    """One row an arm: success, paired difference, steps and RPP; then reference rows."""
    columns = (
        Column("arm", numeric=False),
        Column("solved", "of the task-runs that every compared arm has an outcome for"),
        Column("success rate", "solved / task-runs"),
        Column("Δ success", "paired difference to the first arm, in percentage points"),
        Column("won · lost", "task-runs solved by this arm only · by the first arm only"),
        Column("steps", "mean over all episodes"),
        Column("RPP", "return-paired preference, mean over the other compared arms"),
        Column("tokens / solved", "all tokens of these task-runs' episodes, over those solved"),
    )
    rows = [_result_row(arm) for arm in summary.arms]
    rows += [_reference_row(reference) for reference in summary.references]
    return Table("Results", columns, tuple(rows), _result_note(summary))


def cost_table(summary: Summary) -> Table:
    """One row an arm: what it spent and how it used the shared memory."""
    columns = (
        Column("arm", numeric=False),
        Column("tokens", "prompt and completion, planner calls and lost attempts included"),
        Column("lost tokens", "of attempts that the machinery ended or a stop of the run cut off"),
        Column("Δ tokens / solved", "relative change to the first arm, paired"),
        Column("cost / solved", "US dollars by the agents' prices; local models cost nothing"),
        Column("steps if solved", "mean over solved episodes"),
        Column("prefix hits", "prompt tokens served from the prefix cache"),
        Column("retrieval rate", "steps at which the planner asked for guidance"),
        Column("effective producers", "of retrieved guidance: exp(Shannon entropy)"),
    )
    return Table("Cost", columns, tuple(_cost_row(arm) for arm in summary.arms))


def ending_table(summary: Summary) -> Table:
    """One row an arm: how its episodes ended, the agent's own ways before the machinery's."""
    present = {reason for arm in summary.arms for reason in arm.stop_reasons}
    reasons = [r for r in StopReason if r in present and not r.is_machinery]
    failures = [r for r in StopReason if r in present and r.is_machinery]
    columns = [Column("arm", numeric=False), Column("episodes", "all that were stored")]
    columns += [Column(reason) for reason in reasons]
    columns += [Column(reason, "a failure of the machinery, not scored") for reason in failures]
    columns += [
        Column("machinery failures", "all kinds; their task-runs are left out"),
        Column("tried again", "attempts that the machinery ended and that were made again"),
    ]
    rows = []
    for arm in summary.arms:
        counts = [arm.stop_reasons.get(reason, 0) for reason in [*reasons, *failures]]
        numbers = (arm.episodes, *counts, arm.machinery_failures, arm.failed_attempts)
        rows.append((_arm(arm), *map(_count, numbers)))
    return Table("How episodes ended", tuple(columns), tuple(rows))


def task_type_table(summary: Summary) -> Table:
    """One row a task type: success of each compared arm and their paired difference."""
    return _group_table(summary, summary.by_task_type, "By task type", "task type")


def consumer_table(summary: Summary) -> Table:
    """One row a consumer: success of each compared arm and their paired difference."""
    return _group_table(summary, summary.by_consumer, "By consumer", "consumer")


def growth_table(summary: Summary) -> Table:
    """One row a partition: the corpus D_p after it."""
    columns = (
        Column("corpus", "D_0 is the pre-population", numeric=False),
        Column("chunks"),
        Column("added", "chunks since the partition before"),
        Column("trajectories"),
        Column("producers"),
        Column("effective producers", "exp(Shannon entropy) of the producers' shares"),
        Column("inverse Simpson", "a stricter count of producers"),
    )
    rows, before = [], 0
    for row in summary.growth:
        rows.append(
            (
                Written(f"D{row.partition}", value=row.partition),
                _count(row.chunks),
                _count(row.chunks - before),
                _count(row.trajectories),
                _count(row.producers),
                Written(formats.decimal(row.effective_producers), value=row.effective_producers),
                Written(formats.decimal(row.inverse_simpson), value=row.inverse_simpson),
            )
        )
        before = row.chunks
    return Table("Corpus growth", columns, tuple(rows))


def producer_table(summary: Summary) -> Table:
    """One row a producer: its share of the corpus beside its share of what was retrieved."""
    columns = (
        Column("producer", numeric=False),
        Column("corpus share", "of the chunks of the last D_p"),
        Column("retrieved share", "of the retrieved pieces of guidance, all arms"),
        Column("retrievals"),
        Column("times its share", "retrieved share / corpus share"),
    )
    rows = [
        (
            Written(share.producer),
            _share(share.corpus),
            _share(share.retrieved),
            _count(share.retrievals),
            _optional(share.retrieved / share.corpus if share.corpus else None, formats.decimal),
        )
        for share in summary.producers
    ]
    return Table("Producers", columns, tuple(rows))


def gate_table(judged: Sequence[Judged]) -> Table:
    """Return one row a model: what held-out episodes say of it beside the similarity order."""
    columns = (
        Column("model", numeric=False),
        Column("verdict", "only `pass` may answer consumers", numeric=False),
        Column("Δ success", "paired difference to the similarity order, in percentage points"),
        Column("Δ steps", "paired difference in mean steps; negative is faster"),
        Column("pairs", "task-runs that both played to an end"),
    )
    note = (
        f"pass: lower bound of Δ success at least {formats.points(TOLERATED_LOSS)} points, and no "
        "loss in both success and steps. fail: upper bound below 0. Anything else is insufficient "
        "evidence, which is not deployable either."
    )
    return Table("Gate", columns, tuple(_gate_row(one) for one in judged), note)


def _result_row(arm: ArmSummary) -> tuple[Written, ...]:
    paired = arm.change
    record = _NONE
    if paired:
        chance = formats.p_value(paired.p_value)
        record = Written(f"{paired.wins} · {paired.losses}", chance, paired.wins)
    return (
        _arm(arm),
        _solved(arm.solved, arm.task_runs),
        written(arm.success_rate, formats.percent, " %"),
        written(paired.success_rate, formats.points) if paired else _NONE,
        record,
        written(arm.steps, formats.decimal),
        written(arm.rpp.estimate, formats.preference) if arm.rpp else _NONE,
        written(arm.tokens_per_solved, formats.whole),
    )


def _gate_row(one: Judged) -> tuple[Written, ...]:
    verdict = one.verdict
    success = Estimate(value=verdict.delta_success, low=verdict.low, high=verdict.high)
    steps = verdict.delta_steps
    faster = formats.UNDEFINED if steps is None else formats.decimal(steps)
    return (
        Written(one.name, one.arm if one.arm != one.name else ""),
        Written(verdict.status),
        written(success, formats.points),
        Written(faster, value=steps),
        Written(formats.whole(verdict.pairs), value=verdict.pairs),
    )


def _reference_row(reference: Reference) -> tuple[Written, ...]:
    runs, rate = reference.task_runs, reference.success_rate
    return (
        Written(reference.label, reference.source),
        _NONE if runs is None else _solved(round(runs * rate), runs),
        _share(rate),
        _NONE,
        _NONE,
        _optional(reference.steps, formats.decimal),
        _optional(reference.rpp, formats.preference),
        _NONE,
    )


def _result_note(summary: Summary) -> str:
    note = (
        f"Ranges are {summary.level:.0%} intervals by paired bootstrap: whole tasks drawn again, "
        f"{summary.resamples:,} times."
    )
    if summary.incomplete_task_runs:
        left_out = formats.plural(summary.incomplete_task_runs, "task-run")
        note += f" Left out: {left_out} without an outcome of the agent in every compared arm."
    notes = dict.fromkeys(
        f"Rows marked {r.source}: {r.note}." for r in summary.references if r.note
    )
    return " ".join([note, *notes])


def _cost_row(arm: ArmSummary) -> tuple[Written, ...]:
    return (
        _arm(arm),
        _count(arm.usage.tokens),
        _count(arm.lost.tokens),
        written(arm.change.tokens_per_solved, formats.change, " %") if arm.change else _NONE,
        written(arm.cost_per_solved, formats.money),
        written(arm.steps_solved, formats.decimal),
        _share(arm.prefix_hit_rate),
        _share(arm.retrieval_rate),
        _optional(arm.effective_producers or None, formats.decimal),
    )


def _group_table(
    summary: Summary, groups: Sequence[GroupSummary], title: str, heading: str
) -> Table:
    compared = [arm.arm for arm in summary.compared]
    columns = [Column(heading, numeric=False), Column("task-runs")]
    columns += [Column(arm, "success rate") for arm in compared]
    columns += [Column(f"Δ {arm}", f"paired, points, to {compared[0]}") for arm in compared[1:]]
    columns += [Column(f"steps, {arm}", "mean over all episodes") for arm in compared]
    rows = []
    for group in groups:
        row = [Written(group.group), _count(group.arms[0].task_runs)]
        row += [written(arm.success_rate, formats.percent, " %") for arm in group.arms]
        row += [
            written(arm.change.success_rate, formats.points) for arm in group.arms if arm.change
        ]
        row += [written(_alone(arm.steps), formats.decimal) for arm in group.arms]
        rows.append(tuple(row))
    return Table(title, tuple(columns), tuple(rows))


def _alone(estimate: Estimate) -> Estimate:
    """Drop the interval, where a table has no room for it."""
    return Estimate(value=estimate.value, low=None, high=None)


def _count(value: float) -> Written:
    return Written(formats.whole(value), value=value)


def _arm(arm: ArmSummary) -> Written:
    return Written(arm.arm, "reference" if arm.role == "reference" else "")


def _solved(solved: int, task_runs: int) -> Written:
    return Written(f"{formats.whole(solved)} of {formats.whole(task_runs)}", value=solved)


def _share(share: float | None) -> Written:
    return _NONE if share is None else Written(f"{formats.percent(share)} %", value=share)


def _optional(value: float | None, form: Callable[[float], str]) -> Written:
    return _NONE if value is None else Written(form(value), value=value)


_NONE = Written(formats.UNDEFINED)
