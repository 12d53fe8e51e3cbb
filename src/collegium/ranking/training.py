"""Trains a ranker on some questions and measures it on the others, or says why it is of no use.

Training and validation never share a question. A ranker that gives all candidates of a group one
score, or whose like order held-out groups no better than chance does, is refused.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from collegium.core import InvalidInputError, content_id, generator
from collegium.experience.labels import UtilityLabel
from collegium.ranking.card import Advantage, RankingMetrics
from collegium.ranking.configs import AnyRankerConfig
from collegium.ranking.folds import held_out_scores, question_folds
from collegium.ranking.groups import TrainingSet
from collegium.ranking.kinds import fit_ranker
from collegium.ranking.metrics import advantage, compared, measure
from collegium.ranking.protocol import Ranker, Vector

FOLDS = 5
"""Folds of questions, so that each holds out 20 % as the paper does."""


class UselessRankerError(InvalidInputError):
    """A ranker was trained and learned nothing that orders candidates."""

    code = "useless_ranker"


class Split(NamedTuple):
    """Groups by place."""

    train: list[int]
    validation: list[int]


class Trained(NamedTuple):
    """A ranker and how it did on questions that it was not trained on."""

    ranker: Ranker
    useless: str
    """Why it is of no use; empty for a ranker that learned something."""
    metrics: RankingMetrics
    cross_validated: RankingMetrics
    advantage: Advantage


def split_by_question(data: TrainingSet, share: float, seed: int) -> Split:
    """Hold out `share` of the questions.

    Questions that tell something about order, and those that do not, are divided apart, so that
    neither side is left without.

    Raises:
        InvalidInputError: One side would have no group whose labels differ.
    """
    groups = data.groups
    telling = {group.question for i, group in enumerate(groups) if data.tells_order(i)}
    held: set[str] = set()
    for stratum in (telling, {group.question for group in groups} - telling):
        names = sorted(stratum)
        order = generator(seed, "validation").permutation(len(names))
        held |= {names[i] for i in order[: _held_out(share, len(names))]}
    if not held & telling or not telling - held:
        raise InvalidInputError(
            f"labels differ in the groups of {len(telling)} questions only: too few to train on "
            f"some and hold out {share:.0%}; label more questions"
        )
    places = range(len(groups))
    return Split(
        [i for i in places if groups[i].question not in held],
        [i for i in places if groups[i].question in held],
    )


def train_ranker(
    config: AnyRankerConfig,
    data: TrainingSet,
    split: Split,
    seed: int,
    *,
    folds: int = FOLDS,
    keep_useless: bool = False,
) -> Trained:
    """Train on one side of `split`, measure on the other, and on all questions by folds.

    Whether it orders better than chance is judged by the folds, as one split may hold out a handful
    of groups whose labels differ.

    Args:
        config: How it is trained.
        data: All groups.
        split: Which of them it is trained on.
        seed: Of the training and the folds.
        folds: At least 2.
        keep_useless: Return a ranker that learned nothing, with the reason, instead of raising.

    Raises:
        UselessRankerError: The ranker is constant, or no better than random order.
    """
    ranker = fit_ranker(config, data.subset(split.train), seed)
    scores = ranker.score(data.features)
    validation = data.subset(split.validation)
    held_out = held_out_scores(config, data, question_folds(data, folds, seed), seed)
    crossed = measure(data, held_out)
    useless = _why_constant(data, scores) or _why_no_better(crossed)
    if useless and not keep_useless:
        raise UselessRankerError(f"{config.kind}: {useless}")
    return Trained(
        ranker=ranker,
        useless=useless,
        metrics=measure(validation, ranker.score(validation.features)),
        cross_validated=crossed,
        advantage=advantage(data, held_out, seed),
    )


def _held_out(share: float, count: int) -> int:
    """Return how many are held out: at least one, if one is left."""
    return max(round(share * count), int(count > 1))


def labels_digest(labels: Iterable[UtilityLabel]) -> str:
    """Return the content id of labels, in whatever order they come."""
    return content_id(sorted(content_id(label) for label in labels))


def _why_constant(data: TrainingSet, scores: Vector) -> str:
    if not np.isfinite(scores).all():
        return (
            f"{int((~np.isfinite(scores)).sum())} of {len(scores)} scores are no numbers; lower "
            "its learning rate"
        )
    if all(np.ptp(scores[rows]) == 0 for rows in data.rows):
        return (
            "it gives all candidates of each group one score; train on more labels, or with "
            "smaller leaves or less regularisation"
        )
    return ""


def _why_no_better(metrics: RankingMetrics) -> str:
    mine, chance = compared(metrics.ranker), compared(metrics.random)
    if mine is not None and chance is not None and mine > chance:
        return ""
    return (
        f"NDCG {_told(mine)} over {metrics.groups_differing} groups whose labels differ, each held "
        f"out once, where random order has {_told(chance)}: it learned no order; train on more "
        "labels"
    )


def _told(ndcg: float | None) -> str:
    return "undefined" if ndcg is None else f"{ndcg:.4f}"
