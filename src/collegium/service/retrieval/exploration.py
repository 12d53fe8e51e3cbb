"""Which candidate stands first: the best one, or now and then another, with known probability.

The arms are the candidates in their order and, where the ranker can say so, showing nothing at the
place it gave that. With probability `rate` one of the best `over` arms is drawn uniformly, else the
best arm is taken, so arm i stands first with probability rate / m, and the best one with 1 - rate
more (m arms are drawn from). Outcomes weighed by the inverse of that are unbiased for any other way
of choosing among these arms.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from collegium.core import integer_seed
from collegium.ranking.cascade import RankedList
from collegium.service.retrieval.settings import ExplorationConfig


class Choice(NamedTuple):
    """What stands first, and with what probabilities."""

    shown: tuple[int, ...]
    """Places of the candidates in the answer, in order; empty: nothing is shown."""
    propensities: tuple[float, ...]
    """Of each candidate to stand first."""
    null_propensity: float | None
    """Of showing nothing; None where that is no arm."""
    propensity: float
    """Of what was chosen."""
    over: int
    explored: bool


def choose(ranked: RankedList, k: int, config: ExplorationConfig, retrieval_id: UUID) -> Choice:
    """Choose what at most `k` candidates are shown; the same id makes the same choice."""
    silent = ranked.null_score is not None
    arms: list[int | None] = list(range(len(ranked.candidates)))
    if silent or not arms:
        arms.insert(ranked.above_null, None)
    over = min(config.over, len(arms))
    explored = _draw(config.seed, "whether", retrieval_id) < config.rate
    place = int(over * _draw(config.seed, "which", retrieval_id)) if explored else 0
    first = arms[place]
    chances = _propensities(len(arms), over, config.rate)
    by_arm = dict(zip(arms, chances, strict=True))
    return Choice(
        shown=() if first is None else _list(first, ranked.above_null, k),
        propensities=tuple(by_arm[place] for place in range(len(ranked.candidates))),
        null_propensity=by_arm.get(None),
        propensity=by_arm[first],
        over=over,
        explored=explored,
    )


def _draw(seed: int, stream: str, retrieval_id: UUID) -> float:
    """Return a number in [0, 1): a hash, which costs less than a generator."""
    return (integer_seed(seed, "exploration", stream, str(retrieval_id)) >> 11) / (1 << 53)


def _propensities(arms: int, over: int, rate: float) -> Sequence[float]:
    drawn = [rate / over if place < over else 0.0 for place in range(arms)]
    return [drawn[0] + 1.0 - rate, *drawn[1:]]


def _list(first: int, above_null: int, k: int) -> tuple[int, ...]:
    rest = [place for place in range(above_null) if place != first]
    return (first, *rest[: k - 1])
