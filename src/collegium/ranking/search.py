"""Search over hyper-parameters: settings drawn by seed, each judged on held-out folds of questions.

Only training questions are used, so that what a model is finally measured on stays unseen. Ray, if
it is wanted, is the caller's: `try_settings` is one trial.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from collegium.core import Record, generator
from collegium.ranking.configs import (
    AnyRankerConfig,
    FFNConfig,
    LambdaMARTConfig,
    PersonalConfig,
    SVMRankConfig,
)
from collegium.ranking.folds import held_out_scores, question_folds
from collegium.ranking.groups import TrainingSet
from collegium.ranking.metrics import compared, measure

_TREES: Mapping[str, Sequence[Any]] = {
    "trees": (30, 100, 300),
    "leaves": (7, 15, 31),
    "depth": (3, 6, 9),
    "learning_rate": (0.03, 0.1, 0.2),
    "min_leaf": (5, 20, 50),
}
_NETWORK: Mapping[str, Sequence[Any]] = {
    "layers": ((32,), (64, 32), (128, 64, 32, 16)),
    "dropout": (0.0, 0.2, 0.5),
    "learning_rate": (3e-4, 1e-3, 3e-3),
    "epochs": (20, 50),
}
_COSTS = (-2.0, 3.0)
"""Powers of ten between which SVMRank's c is drawn."""


class Trial(Record):
    """One setting and how it did."""

    schema_version: Literal[1] = 1
    key: str
    """Ranker and number; number 0 is the setting as it was configured."""
    ranker: str
    settings: dict[str, Any]
    ndcg: float | None
    """Over held-out folds of the training questions; None where nothing could be compared."""


def draw_settings(config: AnyRankerConfig, trials: int, seed: int) -> list[AnyRankerConfig]:
    """Return `trials` settings: `config` itself, and variations of it."""
    rng = generator(seed, "search", config.kind)
    return [config, *(_vary(config, rng) for _ in range(trials - 1))]


def try_settings(config: AnyRankerConfig, data: TrainingSet, folds: int, seed: int) -> float | None:
    """Return the NDCG of rankers of this setting on the folds they were not trained on."""
    scores = held_out_scores(config, data, question_folds(data, folds, seed), seed)
    return compared(measure(data, scores).ranker)


def best_trial(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the highest NDCG, the earliest of equal ones."""
    return max(trials, key=lambda trial: -math.inf if trial.ndcg is None else trial.ndcg)


def _vary(config: AnyRankerConfig, rng: np.random.Generator) -> AnyRankerConfig:
    match config:
        case LambdaMARTConfig():
            return config.model_copy(update=_choice(_TREES, rng))
        case FFNConfig():
            return config.model_copy(update=_choice(_NETWORK, rng))
        case SVMRankConfig():
            return config.model_copy(update={"c": float(10 ** rng.uniform(*_COSTS))})
        case PersonalConfig():
            return config.model_copy(update={"base": _vary(config.base, rng)})


def _choice(space: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> dict[str, Any]:
    return {name: values[int(rng.integers(len(values)))] for name, values in space.items()}
