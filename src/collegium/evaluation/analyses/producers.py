"""Whose experience is in the memory, and whose is shown (MATM §5.3 and App. H; formulas §2.8).

The large producers are those of D_0, the pre-population; everybody else contributed later. Shares
of what was shown count each retrieved piece of guidance once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from collegium.core import Record, generator
from collegium.evaluation.growth import GrowthRow, ProducerShare, producer_shares
from collegium.evaluation.metrics import LEVEL
from collegium.evaluation.outcomes import Outcome
from collegium.evaluation.records import Estimate
from collegium.statistics import ClusterBootstrap, effective_number, inverse_simpson

Floats = NDArray[np.float64]

_RESAMPLES = 4_000


class Diversity(Record):
    """How many producers there are in effect."""

    producers: int
    """With at least one chunk."""
    effective: float
    """Exponential of the Shannon entropy of the shares."""
    inverse_simpson: float


class ProducerUse(Record):
    """Whose guidance one arm showed, beside who is in the memory."""

    arm: str
    shares: tuple[ProducerShare, ...]
    corpus: Diversity
    shown: Diversity
    effective_change: Estimate
    """Effective producers of what was shown, less those of the memory."""
    late: tuple[str, ...]
    """Producers that are not of the pre-population."""
    late_corpus: float
    """Their share of the memory."""
    late_shown: Estimate
    """Their share of what was shown."""
    late_ratio: Estimate
    """Shown share / corpus share; 1 is as much as there is of them."""


def producer_use(
    outcomes: Sequence[Outcome], arm: str, growth: Sequence[GrowthRow], *, seed: int = 0
) -> ProducerUse | None:
    """Return whose guidance `arm` showed; None where it showed none, or the memory is not known."""
    played = [o for o in outcomes if o.arm == arm and not o.stop_reason.is_machinery]
    rows = sorted(growth, key=lambda row: row.partition)
    if not rows or not any(outcome.producers for outcome in played):
        return None
    corpus = rows[-1].chunks_by_producer
    retrieved = Counter(name for outcome in played for name in outcome.producers)
    late = tuple(name for name in sorted(corpus) if not rows[0].chunks_by_producer.get(name))
    late_corpus = sum(corpus[name] for name in late) / sum(corpus.values())
    shown = _Shown(played, sorted(retrieved), seed)
    return ProducerUse(
        arm=arm,
        shares=producer_shares(corpus, retrieved),
        corpus=_diversity(corpus),
        shown=_diversity(retrieved),
        effective_change=shown.effective_change(_diversity(corpus).effective),
        late=late,
        late_corpus=late_corpus,
        late_shown=shown.share(late, 1.0),
        late_ratio=shown.share(late, late_corpus),
    )


class _Shown:
    """Counts of shown guidance by producer, on resamples of the tasks."""

    def __init__(self, played: Sequence[Outcome], names: Sequence[str], seed: int) -> None:
        self._names = names
        self._counts_NP = np.array(
            [[outcome.producers.count(name) for name in names] for outcome in played], np.float64
        )
        self._draws = ClusterBootstrap.draw(
            [outcome.task_run.task for outcome in played],
            generator(seed, "producers", played[0].arm),
            resamples=_RESAMPLES,
            level=LEVEL,
        )

    def share(self, names: Sequence[str], over: float) -> Estimate:
        """Return the share of `names`, divided by `over`; undefined where that is 0."""
        mine = [self._names.index(name) for name in names if name in self._names]
        counts_N = self._counts_NP[:, mine].sum(axis=1)
        return Estimate.of(self._draws.ratio(counts_N, over * self._counts_NP.sum(axis=1)))

    def effective_change(self, corpus: float) -> Estimate:
        interval = self._draws.interval(
            lambda *sums: _effective(np.stack(sums)) - corpus, *self._counts_NP.T
        )
        return Estimate.of(interval)


def _diversity(counts: Mapping[str, int]) -> Diversity:
    values = list(counts.values())
    return Diversity(
        producers=sum(value > 0 for value in values),
        effective=effective_number(values),
        inverse_simpson=inverse_simpson(values),
    )


def _effective(counts: Floats) -> Floats:
    """Return exp(entropy) along the first axis."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = counts / counts.sum(axis=0)
        terms = np.where(shares > 0, shares * np.log(shares), 0.0)
    effective: Floats = np.exp(-terms.sum(axis=0))
    return effective
