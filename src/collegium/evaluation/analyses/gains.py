"""The gains of producer-consumer pairs, on shared resamples of the tasks (formulas §2.7)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collegium.core import Record, generator
from collegium.evaluation.arms import NO_RETRIEVAL
from collegium.evaluation.metrics import LEVEL
from collegium.evaluation.outcomes import Outcome
from collegium.statistics import ClusterBootstrap, Interval
from collegium.statistics.correlation import pearson, pearson_p_value

Floats = NDArray[np.float64]
_OfGains = Callable[[list[Floats]], Floats]
_OfGap = Callable[[float], bool]

_RESAMPLES = 4_000


class PairGain(Record):
    """What one consumer gained in the episodes in which it was shown one producer's guidance."""

    producer: str
    consumer: str
    episodes: int
    gain: float
    """In success rate, in [-1, 1]."""
    gap: float | None
    """In percentage points of measured capability."""


class _Shown(NamedTuple):
    """An episode of a guided arm beside the same task-run without retrieval."""

    treated: Outcome
    base: Outcome | None


class Gains:
    """The gains of some arms, on shared resamples of their tasks."""

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        arms: Sequence[str],
        capabilities: Mapping[str, float],
        minimum: int,
        seed: int,
    ) -> None:
        baselines = {
            outcome.task_run: outcome
            for outcome in outcomes
            if outcome.arm == NO_RETRIEVAL and not outcome.stop_reason.is_machinery
        }
        self._alone = _success_alone(baselines.values())
        self._capabilities = capabilities
        self._rows = [
            _Shown(outcome, baselines.get(outcome.task_run))
            for outcome in outcomes
            if outcome.arm in arms and not outcome.stop_reason.is_machinery
        ]
        self._arms = arms
        self._names = {arm: self._observed(arm, minimum) for arm in arms}
        self._draws = ClusterBootstrap.draw(
            [row.treated.task_run.task for row in self._rows],
            generator(seed, "advantage", *arms),
            resamples=_RESAMPLES,
            level=LEVEL,
        )
        self._columns = [
            column for arm in arms for pair in self._names[arm] for column in self._sums(arm, *pair)
        ]

    def names(self, arm: str) -> list[tuple[str, str]]:
        """Return the (producer, consumer) pairs with enough episodes, in order."""
        return self._names[arm]

    def pairs(self, arm: str) -> tuple[PairGain, ...]:
        """Return the pairs of an arm with their gains."""
        gains = self._split(np.array([column.sum() for column in self._columns]))
        mine = gains[self._arms.index(arm)]
        return tuple(
            PairGain(
                producer=producer,
                consumer=consumer,
                episodes=int(self._member(arm, producer, consumer).sum()),
                gain=float(gain),
                gap=None if np.isnan(gap) else float(gap),
            )
            for (producer, consumer), gain, gap in zip(
                self._names[arm], mine, self._gaps(arm), strict=True
            )
        )

    def interval(self, statistic: _OfGains) -> Interval:
        """Return a statistic of the arms' gains, each of shape (pairs,) or (pairs, resamples)."""
        return self._draws.interval(
            lambda *sums: statistic(self._split(np.stack(sums))), *self._columns
        )

    def mean_where(self, arm: str, wanted: _OfGap) -> Interval:
        """Return the mean gain over the pairs whose gap is known and `wanted`."""
        place, gaps = self._arms.index(arm), self._gaps(arm)
        chosen = np.array([bool(not np.isnan(gap) and wanted(gap)) for gap in gaps])
        return self.interval(lambda mu: mean_gain(mu[place][chosen]))

    def correlation(self, arm: str) -> Interval:
        """Return Pearson's r between the known gaps and the gains of an arm."""
        place, gaps = self._arms.index(arm), self._gaps(arm)

        def r(mu: list[Floats]) -> Floats:
            shape = (-1, *[1] * (mu[place].ndim - 1))
            return pearson(np.broadcast_to(gaps.reshape(shape), mu[place].shape), mu[place])

        return self.interval(r)

    def p_value(self, arm: str) -> float | None:
        """Return r's p-value, which takes pairs as independent; None where r is undefined."""
        pairs = self.pairs(arm)
        p = pearson_p_value(self._gaps(arm), [pair.gain for pair in pairs])
        return None if np.isnan(p) else p

    def _observed(self, arm: str, minimum: int) -> list[tuple[str, str]]:
        seen: dict[tuple[str, str], int] = {}
        for row in self._rows:
            if row.treated.arm == arm:
                for producer in set(row.treated.producers):
                    pair = (producer, row.treated.task_run.agent)
                    seen[pair] = seen.get(pair, 0) + 1
        return sorted(pair for pair, episodes in seen.items() if episodes >= minimum)

    def _member(self, arm: str, producer: str, consumer: str) -> Floats:
        return np.array(
            [
                float(
                    row.treated.arm == arm
                    and row.treated.task_run.agent == consumer
                    and producer in row.treated.producers
                )
                for row in self._rows
            ]
        )

    def _sums(self, arm: str, producer: str, consumer: str) -> tuple[Floats, ...]:
        """Return the columns whose sums give one pair's gain.

        Where no baseline of the pair's task-runs is there, the consumer's overall success without
        retrieval stands in for each.
        """
        member = self._member(arm, producer, consumer)
        solved = np.array([float(row.treated.success) for row in self._rows])
        known = np.array([float(row.base is not None) for row in self._rows])
        base = np.array([float(row.base is not None and row.base.success) for row in self._rows])
        if not (member * known).any():
            known, base = member, member * self._alone.get(consumer, np.nan)
        return member, member * solved, member * known, member * base

    def _split(self, sums: Floats) -> list[Floats]:
        """Turn sums, four a pair along the first axis, into the gains of each arm."""
        episodes, solved, paired, base = (sums[place::4] for place in range(4))
        with np.errstate(invalid="ignore", divide="ignore"):
            gains = solved / episodes - base / paired
        ends = np.cumsum([len(self._names[arm]) for arm in self._arms])[:-1]
        return np.split(gains, ends)

    def _gaps(self, arm: str) -> Floats:
        known = self._capabilities
        return np.array(
            [known.get(i, np.nan) - known.get(j, np.nan) for i, j in self._names[arm]],
            dtype=np.float64,
        )


def _success_alone(baselines: Iterable[Outcome]) -> dict[str, float]:
    """Return each consumer's success rate without retrieval."""
    solved: dict[str, list[bool]] = {}
    for outcome in baselines:
        solved.setdefault(outcome.task_run.agent, []).append(outcome.success)
    return {agent: sum(each) / len(each) for agent, each in solved.items()}


def mean_gain(gains: Floats) -> Floats:
    """Return the mean over the pairs that a resample has; `nan` where it has none."""
    known = ~np.isnan(gains)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = np.where(known, gains, 0.0).sum(axis=0) / known.sum(axis=0)
    return mean
