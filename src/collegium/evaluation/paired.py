"""Two arms on the task-runs that both played to an end: what each comparison and verdict stands on.

The interval of the difference in success is the wider one of two at each end: the paired bootstrap
by task knows that task-runs of one task are alike, Bonett and Price's adjusted interval that one or
two discordant pairs prove little.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from collegium.core import InvalidInputError, Record, generator
from collegium.evaluation.metrics import LEVEL, RESAMPLES
from collegium.evaluation.outcomes import Outcome
from collegium.evaluation.panel import Panel, compare
from collegium.evaluation.preference import preference_votes
from collegium.evaluation.records import Estimate
from collegium.statistics import ClusterBootstrap, Interval, paired_difference


class Difference(Record):
    """An arm less a baseline, on the same task-runs."""

    arm: str
    baseline: str
    pairs: int
    """Task-runs that both played to an end."""
    wins: int
    """Task-runs that only the arm solved."""
    losses: int
    """Task-runs that only the baseline solved."""
    success: Estimate
    """In success rate, in [-1, 1]."""
    steps: Estimate
    """In mean steps over all episodes; negative is faster."""
    tokens: Estimate
    """Relative change in tokens per solved task-run; -0.2 is a fifth fewer."""
    preference: Estimate
    """RPP of the arm over the baseline, in [-1, 1]."""


def difference(
    outcomes: Iterable[Outcome], arm: str, baseline: str, *, seed: int = 0
) -> Difference | None:
    """Return what `arm` did beside `baseline`; None without a task-run that both played.

    Args:
        outcomes: Of any arms, machinery failures included; those count in no pair.
        arm: The arm that is compared.
        baseline: What it is compared with.
        seed: Of the bootstrap.

    Raises:
        InvalidInputError: One of the arms has no episode at all.
    """
    panel = _paired(outcomes, arm, baseline)
    if panel is None:
        return None
    success_AN = panel.values(lambda outcome: outcome.success)
    steps_AN = panel.values(lambda outcome: outcome.steps)
    tokens_AN = panel.values(lambda outcome: outcome.usage.tokens)
    draws = ClusterBootstrap.draw(
        [task_run.task for task_run in panel.task_runs],
        generator(seed, "difference", arm, baseline),
        resamples=RESAMPLES,
        level=LEVEL,
    )
    tokens = draws.relative_change(tokens_AN[1], success_AN[1], tokens_AN[0], success_AN[0])
    return Difference(
        arm=arm,
        baseline=baseline,
        pairs=len(panel.task_runs),
        wins=int(np.sum(success_AN[1] > success_AN[0])),
        losses=int(np.sum(success_AN[1] < success_AN[0])),
        success=Estimate.of(_success(draws, success_AN)),
        steps=Estimate.of(draws.mean(steps_AN[1] - steps_AN[0])),
        tokens=Estimate.of(tokens),
        preference=Estimate.of(draws.mean(preference_votes(success_AN, steps_AN)[1])),
    )


def _paired(outcomes: Iterable[Outcome], arm: str, baseline: str) -> Panel | None:
    """Return the panel of the two arms, the baseline first."""
    wanted = [outcome for outcome in outcomes if outcome.arm in (arm, baseline)]
    for name in (arm, baseline):
        if not any(outcome.arm == name for outcome in wanted):
            raise InvalidInputError(f"no episode of arm {name!r}: play it, or leave it out")
    panel = compare(wanted, baseline).panel
    return panel if len(panel.arms) == 2 and panel.task_runs else None


def _success(draws: ClusterBootstrap, success_AN: NDArray[np.float64]) -> Interval:
    wins = int(np.sum(success_AN[1] > success_AN[0]))
    losses = int(np.sum(success_AN[1] < success_AN[0]))
    one = draws.difference(success_AN[1], success_AN[0])
    other = paired_difference(wins, losses, success_AN.shape[1], level=LEVEL)
    low, high = np.fmin(one.low, other.low), np.fmax(one.high, other.high)
    return Interval(one.estimate, float(low), float(high))
