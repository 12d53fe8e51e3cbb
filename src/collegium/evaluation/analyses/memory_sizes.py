"""Success and steps as the memory grows, on nested subsets of it (MATM §5.5; formulas §2.9)."""

from collections.abc import Sequence

from collegium.core import Record
from collegium.evaluation.arms import ArmNote
from collegium.evaluation.outcomes import Outcome
from collegium.evaluation.paired import Difference, difference
from collegium.evaluation.records import ArmSummary, Estimate, Summary


class MemoryPoint(Record):
    """What one fraction of the memory gave."""

    fraction: float
    arm: str
    task_runs: int
    success: Estimate
    steps: Estimate
    by_draw: tuple[float, ...]
    """Success rate under each draw of the subset, that is under each offset."""


class MemoryCurve(Record):
    """The points, by rising fraction."""

    points: tuple[MemoryPoint, ...]
    whole: Difference
    """The largest fraction beside the smallest."""

    @property
    def success_rises(self) -> bool:
        """Whether no larger memory solved less."""
        rates = [point.success.value or 0.0 for point in self.points]
        return rates == sorted(rates)

    @property
    def steps_fall(self) -> bool:
        """Whether no larger memory took more steps."""
        steps = [point.steps.value or 0.0 for point in self.points]
        return steps == sorted(steps, reverse=True)


def memory_curve(
    summary: Summary, notes: Sequence[ArmNote], outcomes: Sequence[Outcome], *, seed: int = 0
) -> MemoryCurve | None:
    """Return the curve over the arms of `summary` that see different fractions.

    Args:
        summary: Of the run, or runs.
        notes: What its arms are.
        outcomes: Its episodes.
        seed: Of the bootstrap.
    """
    fractions = {note.key: note.fraction for note in notes}
    arms = sorted(summary.compared, key=lambda arm: fractions[arm.arm])
    if len({fractions[arm.arm] for arm in arms}) < 2:
        return None
    whole = difference(outcomes, arms[-1].arm, arms[0].arm, seed=seed)
    if whole is None:
        return None
    points = tuple(_point(arm, fractions[arm.arm], outcomes) for arm in arms)
    return MemoryCurve(points=points, whole=whole)


def _point(arm: ArmSummary, fraction: float, outcomes: Sequence[Outcome]) -> MemoryPoint:
    draws: dict[int, list[bool]] = {}
    for outcome in outcomes:
        if outcome.arm == arm.arm and not outcome.stop_reason.is_machinery:
            draws.setdefault(outcome.task_run.offset, []).append(outcome.success)
    return MemoryPoint(
        fraction=fraction,
        arm=arm.arm,
        task_runs=arm.task_runs,
        success=arm.success_rate,
        steps=arm.steps,
        by_draw=tuple(sum(draws[offset]) / len(draws[offset]) for offset in sorted(draws)),
    )
