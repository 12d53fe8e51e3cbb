"""The gate's verdicts as a table."""

from collections.abc import Sequence

from collegium.evaluation import formats
from collegium.evaluation.formats import Written, written
from collegium.evaluation.gate import TOLERATED, Judged
from collegium.evaluation.records import Estimate
from collegium.evaluation.tables import Column, Table


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
        f"pass: lower bound of Δ success at least {formats.points(TOLERATED)} points, and no loss "
        "in both success and steps. fail: upper bound below 0. Anything else is insufficient "
        "evidence, which is not deployable either."
    )
    return Table("Gate", columns, tuple(_row(one) for one in judged), note)


def _row(one: Judged) -> tuple[Written, ...]:
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
