"""What a ranker goes by: gain, permutation and SHAP importance of each of the 44 features.

The columns of an id count as one feature: they are shuffled together and their SHAP values added.

    gain         share of the loss that LambdaMART's splits on the feature saved, or of SVMRank's
                 absolute weights; a network has none.
    permutation  NDCG lost on held-out groups when the feature's values are shuffled over all rows,
                 mean over some shuffles.
    shap         mean absolute SHAP value over held-out rows: exact for trees and linear models, by
                 permutations against training rows for networks. In units of the score.
"""

import warnings
from typing import Literal, NamedTuple

import numpy as np

from collegium.core import Record, generator
from collegium.ranking.groups import TrainingSet
from collegium.ranking.lambdamart import LambdaMART
from collegium.ranking.metrics import compared, measure
from collegium.ranking.protocol import Matrix, Ranker, Vector
from collegium.ranking.schema import FEATURES
from collegium.ranking.svmrank import SVMRank

_SHUFFLES = 10
_BACKGROUND = 20
_EXPLAINED = 100


class Importance(Record):
    """How much one ranker goes by one feature."""

    schema_version: Literal[1] = 1
    key: str
    ranker: str
    feature: str
    category: str
    gain: float | None
    permutation: float
    shap: float


class Measured(NamedTuple):
    """A trained ranker with the data it was trained and measured on."""

    name: str
    ranker: Ranker
    train: TrainingSet
    validation: TrainingSet


def importances(measured: Measured, seed: int) -> list[Importance]:
    """Return the importance of each feature, in the order of the features."""
    blocks = measured.train.schema.blocks
    gains = _gains(measured.ranker)
    shap = _shap_values(measured, seed)
    lost = _lost_by_shuffling(measured, seed)
    return [
        Importance(
            key=f"{measured.name}/{feature.name}",
            ranker=measured.name,
            feature=feature.name,
            category=feature.category,
            gain=None if gains is None else float(gains[blocks[feature.name]].sum()),
            permutation=lost[feature.name],
            shap=float(np.abs(shap[:, blocks[feature.name]].sum(axis=1)).mean()),
        )
        for feature in FEATURES
    ]


def _gains(ranker: Ranker) -> Vector | None:
    """Return the share of each column; None for rankers that have no such thing."""
    match ranker:
        case LambdaMART():
            found = np.asarray(ranker.booster.feature_importance("gain"), np.float64)
        case SVMRank():
            found = np.abs(ranker.weights)
        case _:
            return None
    return np.asarray(found / found.sum())


def _lost_by_shuffling(measured: Measured, seed: int) -> dict[str, float]:
    data, ranker = measured.validation, measured.ranker
    whole = _quality(data, ranker.score(data.features))
    lost = {}
    for name, columns in data.schema.blocks.items():
        rng = generator(seed, "permutation", measured.name, name)
        scores = [ranker.score(_shuffled(data.features, columns, rng)) for _ in range(_SHUFFLES)]
        lost[name] = float(np.mean([whole - _quality(data, one) for one in scores]))
    return lost


def _shuffled(features: Matrix, columns: slice, rng: np.random.Generator) -> Matrix:
    changed = features.copy()
    changed[:, columns] = features[rng.permutation(len(features)), columns]
    return changed


def _quality(data: TrainingSet, scores: Vector) -> float:
    return compared(measure(data, scores).ranker) or 0.0


def _shap_values(measured: Measured, seed: int) -> Matrix:
    """Return one value a row and column."""
    ranker, rows = measured.ranker, measured.validation.features
    match ranker:
        case LambdaMART():
            return np.asarray(ranker.booster.predict(rows, pred_contrib=True, num_threads=1))[
                :, :-1
            ]
        case SVMRank():
            return np.asarray(ranker.standardise(rows) * ranker.weights)
        case _:
            return _sampled_shap(measured, seed)


def _sampled_shap(measured: Measured, seed: int) -> Matrix:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries that it brings
        from shap import PermutationExplainer
        from shap.maskers import Independent
    rng = generator(seed, "shap", measured.name)
    background = _drawn(measured.train.features, _BACKGROUND, rng)
    explained = _drawn(measured.validation.features, _EXPLAINED, rng)
    explainer = PermutationExplainer(
        measured.ranker.score, Independent(background, max_samples=_BACKGROUND), seed=seed % 2**32
    )
    once = 2 * background.shape[1] + 1
    return np.asarray(explainer(explained, max_evals=once, silent=True).values)


def _drawn(features: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    return features[rng.permutation(len(features))[:count]]
