"""Numbers of one arm on one panel, each with its interval (formulas §2.6, §2.10).

Success rate and steps are means over task-runs; tokens and cost per solved are ratios of sums: all
that was spent, also on what failed, over what was solved.
"""

import numpy as np
from numpy.typing import NDArray

from collegium.core import generator
from collegium.evaluation.panel import Panel
from collegium.evaluation.preference import preference_votes
from collegium.evaluation.records import ArmMetrics, Estimate, PairedChange, Preference
from collegium.statistics import ClusterBootstrap, mcnemar_exact

RESAMPLES = 10_000
LEVEL = 0.95


class PanelMetrics:
    """Evaluates the arms of one panel on shared resamples of its tasks."""

    def __init__(self, panel: Panel, *, seed: int, stream: str) -> None:
        self.panel = panel
        self.draws = ClusterBootstrap.draw(
            [run.task for run in panel.task_runs],
            generator(seed, "bootstrap", stream),
            resamples=RESAMPLES,
            level=LEVEL,
        )
        self._success_AN = panel.values(lambda o: o.success)
        self._steps_AN = panel.values(lambda o: o.steps)
        self._tokens_AN = panel.values(lambda o: o.usage.tokens)

    def arm(self, index: int) -> ArmMetrics:
        """Return the metrics of arm `index`; index 0 is the baseline and has no change."""
        success_N, steps_N = self._success_AN[index], self._steps_AN[index]
        return ArmMetrics(
            arm=self.panel.arms[index],
            task_runs=len(self.panel.task_runs),
            tasks=self.draws.clusters,
            solved=int(success_N.sum()),
            success_rate=Estimate.of(self.draws.proportion(success_N)),
            steps=Estimate.of(self.draws.mean(steps_N)),
            steps_solved=Estimate.of(self.draws.ratio(steps_N * success_N, success_N)),
            tokens_per_solved=Estimate.of(self.draws.ratio(self._tokens_AN[index], success_N)),
            change=self._change(index) if index else None,
        )

    def cost_per_solved(self, index: int) -> Estimate:
        """Return US dollars per solved task-run of arm `index`."""
        cost_N = self.panel.values(lambda o: o.usage.cost)[index]
        return Estimate.of(self.draws.ratio(cost_N, self._success_AN[index]))

    def preferences(self) -> tuple[Preference, ...] | None:
        """Return each arm's mean pairwise RPP; the votes sum to 0. None for a single arm."""
        opponents = len(self.panel.arms) - 1
        if opponents == 0:
            return None
        votes_AN = preference_votes(self._success_AN, self._steps_AN)
        return tuple(
            Preference(
                votes=int(votes_N.sum()),
                of=votes_N.size * opponents,
                estimate=Estimate.of(self.draws.mean(votes_N / opponents)),
            )
            for votes_N in votes_AN
        )

    def solved_by_step(self, index: int) -> tuple[int, ...]:
        """Return how many task-runs were solved within 0, 1, 2, ... steps."""
        solved = self._success_AN[index] > 0
        steps: NDArray[np.int64] = self._steps_AN[index][solved].astype(np.int64)
        return tuple(int(count) for count in np.cumsum(np.bincount(steps)))

    def _change(self, index: int) -> PairedChange:
        treated_N, control_N = self._success_AN[index], self._success_AN[0]
        wins = int(np.sum(treated_N > control_N))
        losses = int(np.sum(treated_N < control_N))
        return PairedChange(
            success_rate=Estimate.of(self.draws.difference(treated_N, control_N)),
            wins=wins,
            losses=losses,
            p_value=mcnemar_exact(wins, losses),
            tokens_per_solved=Estimate.of(
                self.draws.relative_change(
                    self._tokens_AN[index], treated_N, self._tokens_AN[0], control_N
                )
            ),
        )
