"""Arms side by side: the task-runs in which every compared arm has an outcome of the agent's own.

A failure of the machinery is no outcome of the agent: its task-run leaves the comparison in *all*
arms and is counted apart. An arm that shares no task-run with the baseline (an expert, a planner)
cannot be compared by pairs and stands alone as a reference arm.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collegium.core import InvalidInputError
from collegium.evaluation.arms import NO_RETRIEVAL, RETRIEVAL
from collegium.evaluation.outcomes import Outcome, TaskRun


@dataclass(frozen=True)
class Panel:
    """Outcomes of A arms on the same N task-runs; arm 0 is the baseline."""

    arms: tuple[str, ...]
    task_runs: tuple[TaskRun, ...]
    outcomes: tuple[tuple[Outcome, ...], ...]
    """Shape (A, N), aligned with `arms` and `task_runs`."""

    def values(self, of: Callable[[Outcome], float]) -> NDArray[np.float64]:
        """Return `of` each outcome, shape (A, N)."""
        rows = [[of(outcome) for outcome in row] for row in self.outcomes]
        return np.array(rows, dtype=np.float64).reshape(len(self.arms), len(self.task_runs))

    def groups(self, of: Callable[[Outcome], str]) -> "dict[str, Panel]":
        """Split the task-runs by a property of the baseline's outcome, sorted by its value."""
        places: dict[str, list[int]] = {}
        for place, outcome in enumerate(self.outcomes[0]):
            places.setdefault(of(outcome), []).append(place)
        return {name: self._take(places[name]) for name in sorted(places)}

    def _take(self, places: Sequence[int]) -> "Panel":
        return Panel(
            arms=self.arms,
            task_runs=tuple(self.task_runs[i] for i in places),
            outcomes=tuple(tuple(row[i] for i in places) for row in self.outcomes),
        )


@dataclass(frozen=True)
class Comparison:
    """The panel of compared arms, the panels of reference arms, and what was left out."""

    panel: Panel
    references: tuple[Panel, ...]
    incomplete: int
    """Task-runs of compared arms that lack an agent outcome in at least one of them."""


def compare(
    outcomes: Iterable[Outcome],
    baseline: str = NO_RETRIEVAL,
    order: Sequence[str] = (NO_RETRIEVAL, RETRIEVAL),
) -> Comparison:
    """Align outcomes by task-run; raises InvalidInputError without outcomes or on a double one.

    Args:
        outcomes: of all arms, in any order, machinery failures included.
        baseline: the arm that the others are compared with; the first arm where it is missing.
        order: in which arms stand; those that it leaves out come after, by name.
    """
    everything = list(outcomes)
    if not everything:
        raise InvalidInputError("no episodes to evaluate: the run has stored none yet")
    by_arm = _agent_outcomes(everything)
    names = sorted(by_arm, key=lambda arm: _rank(arm, baseline, order))
    shared = {arm for arm in names if by_arm[arm].keys() & by_arm[names[0]].keys()} | {names[0]}
    compared = [arm for arm in names if arm in shared]
    complete = set.intersection(*(set(by_arm[arm]) for arm in compared))
    seen = {outcome.task_run for outcome in everything if outcome.arm in shared}
    return Comparison(
        panel=_panel(compared, sorted(complete), by_arm),
        references=tuple(
            _panel([arm], sorted(by_arm[arm]), by_arm) for arm in names if arm not in shared
        ),
        incomplete=len(seen - complete),
    )


def _agent_outcomes(outcomes: Iterable[Outcome]) -> dict[str, dict[TaskRun, Outcome]]:
    by_arm: dict[str, dict[TaskRun, Outcome]] = {}
    for outcome in outcomes:
        arm = by_arm.setdefault(outcome.arm, {})
        if outcome.stop_reason.is_machinery:
            continue
        other = arm.setdefault(outcome.task_run, outcome)
        if other is not outcome:
            raise InvalidInputError(
                f"episodes {other.key!r} and {outcome.key!r} are both of arm {outcome.arm!r} and "
                f"{outcome.task_run}: give repeated attempts their own offset"
            )
    return by_arm


def _panel(
    arms: Sequence[str],
    task_runs: Sequence[TaskRun],
    by_arm: Mapping[str, Mapping[TaskRun, Outcome]],
) -> Panel:
    return Panel(
        arms=tuple(arms),
        task_runs=tuple(task_runs),
        outcomes=tuple(tuple(by_arm[arm][run] for run in task_runs) for arm in arms),
    )


def _rank(arm: str, baseline: str, order: Sequence[str]) -> tuple[bool, int, str]:
    known = order.index(arm) if arm in order else len(order)
    return (arm != baseline, known, arm)
