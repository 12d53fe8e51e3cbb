"""How good an order is: one definition of NDCG, beside similarity order and random order.

NDCG of a group: its candidates best first by score, equal scores by the first stage's rank;
DCG = Σ gain(label_i) / log2(i + 1) over all places i from 1, over the DCG of the best order, with
the gains of `ranking.grades`. The mean is taken over the groups with a relevant candidate (a label
above 0). In the others no order can help; those of them whose labels differ have their own mean,
and all groups whose labels differ have one together, by which rankers are compared with chance.
Random order is the exact expectation over all orders, not a sample.
"""

import math
from collections.abc import Sequence

import numpy as np

from collegium.core import generator
from collegium.ranking.card import Advantage, Bounds, OrderQuality, RankingMetrics
from collegium.ranking.groups import TrainingSet
from collegium.ranking.protocol import Vector
from collegium.statistics import ClusterBootstrap, Interval

_RESAMPLES = 5000


def measure(data: TrainingSet, scores: Vector) -> RankingMetrics:
    """Return how `scores` (one a row of `data`) order its groups."""
    labels = [data.labels[rows] for rows in data.rows]
    gains = [np.array(data.scale.gains)[data.grades[rows]] for rows in data.rows]
    first = [np.arange(len(group), dtype=np.float64) for group in labels]
    return RankingMetrics(
        groups=len(labels),
        groups_relevant=sum(bool((group > 0).any()) for group in labels),
        groups_differing=sum(bool(np.ptp(group) > 0) for group in labels),
        ranker=_ordered(labels, gains, [-scores[rows] for rows in data.rows]),
        similarity=_ordered(labels, gains, first),
        random=_random(labels, gains),
        best=_ordered(labels, gains, [-group for group in labels]),
    )


def advantage(data: TrainingSet, scores: Vector, seed: int) -> Advantage:
    """Return how much better `scores` order than chance and than the first stage.

    Only groups whose labels differ enter; whole questions are drawn again.
    """
    telling = [place for place in range(len(data.groups)) if data.tells_order(place)]
    ours, first, chance = (np.empty(len(telling)) for _ in range(3))
    for i, place in enumerate(telling):
        rows = data.rows[place]
        gains = np.array(data.scale.gains)[data.grades[rows]]
        ours[i] = ndcg(gains, np.argsort(-scores[rows], kind="stable").tolist())
        first[i] = ndcg(gains, range(len(gains)))
        chance[i] = _expected(gains)
    questions = [data.groups[place].question for place in telling]
    draws = ClusterBootstrap.draw(questions, generator(seed, "advantage"), resamples=_RESAMPLES)
    return Advantage(
        over_random=_bounds(draws.mean(ours - chance)),
        over_similarity=_bounds(draws.mean(ours - first)),
    )


def compared(quality: OrderQuality) -> float | None:
    """Return the NDCG that orders are compared by: of all groups in which order matters."""
    return quality.ndcg_differing


def ndcg(gains: Vector, order: Sequence[int]) -> float:
    """Return the NDCG of one group; 1 where no candidate has a gain, as all orders are equal."""
    discounts = _discounts(len(gains))
    best = float(np.sort(gains)[::-1] @ discounts)
    return float(gains[list(order)] @ discounts) / best if best else 1.0


def _ordered(labels: list[Vector], gains: list[Vector], keys: list[Vector]) -> OrderQuality:
    """Order each group by its keys, smallest first."""
    orders = [np.argsort(key, kind="stable").tolist() for key in keys]
    quality = [ndcg(gain, order) for gain, order in zip(gains, orders, strict=True)]
    top = [float(label[order[0]]) for label, order in zip(labels, orders, strict=True)]
    return _quality(labels, quality, top)


def _random(labels: list[Vector], gains: list[Vector]) -> OrderQuality:
    return _quality(
        labels, [_expected(gain) for gain in gains], [float(label.mean()) for label in labels]
    )


def _expected(gains: Vector) -> float:
    """Return the mean NDCG over all orders."""
    discounts = _discounts(len(gains))
    best = float(np.sort(gains)[::-1] @ discounts)
    return float(gains.mean() * discounts.sum()) / best if best else 1.0


def _quality(labels: list[Vector], quality: list[float], top: list[float]) -> OrderQuality:
    known = list(zip(labels, quality, strict=True))
    relevant = [value for label, value in known if label.max() > 0]
    others = [value for label, value in known if label.max() <= 0 and np.ptp(label) > 0]
    return OrderQuality(
        ndcg=_mean(relevant),
        ndcg_others=_mean(others),
        ndcg_differing=_mean([value for label, value in known if np.ptp(label) > 0]),
        top_label=_mean(top),
    )


def _bounds(interval: Interval) -> Bounds:
    low, high = (end if math.isfinite(end) else None for end in (interval.low, interval.high))
    return Bounds(value=interval.estimate, low=low, high=high)


def _discounts(places: int) -> Vector:
    return np.asarray(1.0 / np.log2(np.arange(places) + 2.0))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
