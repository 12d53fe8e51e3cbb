"""Groups scored by rankers that were not trained on their fold, so that each is held out once."""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from collegium.core import generator
from collegium.ranking.configs import AnyRankerConfig
from collegium.ranking.groups import TrainingSet
from collegium.ranking.kinds import fit_ranker
from collegium.ranking.protocol import Vector


def question_folds(data: TrainingSet, folds: int, seed: int) -> list[int]:
    """Return the fold of each group; groups of one question are in one fold.

    Questions that tell something about order are spread over the folds before the others.
    """
    telling = {group.question for i, group in enumerate(data.groups) if data.tells_order(i)}
    every = {group.question for group in data.groups}
    order = [
        *_shuffled(telling, generator(seed, "folds")),
        *_shuffled(every - telling, generator(seed, "other folds")),
    ]
    fold = {question: number % folds for number, question in enumerate(order)}
    return [fold[group.question] for group in data.groups]


def held_out_scores(
    config: AnyRankerConfig, data: TrainingSet, folds: Sequence[Hashable], seed: int
) -> Vector:
    """Return the score of each row by a ranker that was trained without the row's fold.

    Where the other folds tell nothing about order, all candidates have the score 0.
    """
    scores = np.zeros(len(data.labels))
    for fold in dict.fromkeys(folds):
        held = [i for i, one in enumerate(folds) if one == fold]
        rest = [i for i, one in enumerate(folds) if one != fold]
        if any(data.tells_order(i) for i in rest):
            ranker = fit_ranker(config, data.subset(rest), seed)
            rows = np.concatenate([np.arange(len(data.labels))[data.rows[i]] for i in held])
            scores[rows] = ranker.score(data.features[rows])
    return scores


def _shuffled(questions: Iterable[str], rng: np.random.Generator) -> list[str]:
    names = sorted(questions)
    return [names[i] for i in rng.permutation(len(names))]
