"""SVMRank: a linear SVM on the differences between better and worse candidates of a group.

It minimises ½‖w‖² + (c / Q) Σ max(0, 1 - w·(x_a - x_b)) over the pairs of all Q groups in which a's
label is above b's; a pair counts by the mean trust in its two labels. Features are standardised.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from collegium.core import CorruptDataError, NotFoundError
from collegium.ranking.configs import SVMRankConfig
from collegium.ranking.groups import TrainingSet
from collegium.ranking.protocol import Matrix, Vector
from collegium.ranking.scaling import Standardiser
from collegium.store.files import write_text

_FILE = "svmrank.json"
_ITERATIONS = 100_000
_TOLERANCE = 1e-3


class SVMRank:
    """A `Ranker` that is linear in standardised features."""

    kind = "svmrank"

    def __init__(self, standardise: Standardiser, weights: Vector) -> None:
        self.standardise = standardise
        self.weights = weights

    def score(self, features: Matrix) -> Vector:
        """See `Ranker.score`."""
        # Not a matrix product: there, a row's last digits depend on how many others there are.
        return np.asarray(np.einsum("nc,c->n", self.standardise(features), self.weights))

    def save(self, folder: Path) -> None:
        """See `Ranker.save`."""
        columns = {"mean": self.standardise.mean, "scale": self.standardise.scale}
        plain = {name: values.tolist() for name, values in columns.items()}
        plain["weights"] = self.weights.tolist()
        write_text(folder / _FILE, json.dumps(plain) + "\n")


class _Pairs(NamedTuple):
    differences: Matrix
    trust: Vector


def fit_svmrank(config: SVMRankConfig, data: TrainingSet, seed: int) -> SVMRank:
    """Train on `data`, in which some group's labels differ."""
    from sklearn.svm import LinearSVC

    standardise = Standardiser.fit(data.features)
    pairs = _pairs(standardise(data.features), data)
    # Each pair enters with both signs at half the cost: the same optimum, and always two classes.
    svm = LinearSVC(
        loss="hinge",
        C=config.c / len(data.sizes) / 2,
        fit_intercept=False,
        dual=True,
        tol=_TOLERANCE,
        max_iter=_ITERATIONS,
        random_state=seed % 2**32,
    )
    count = len(pairs.differences)
    svm.fit(
        np.concatenate([pairs.differences, -pairs.differences]),
        np.repeat([1, -1], count),
        sample_weight=np.tile(pairs.trust, 2),
    )
    return SVMRank(standardise, np.asarray(svm.coef_[0], np.float64))


def _pairs(features: Matrix, data: TrainingSet) -> _Pairs:
    better, worse = [], []
    for rows in data.rows:
        labels = data.labels[rows]
        above, below = np.nonzero(labels[:, None] > labels[None, :])
        better.append(above + rows.start)
        worse.append(below + rows.start)
    a, b = np.concatenate(better), np.concatenate(worse)
    return _Pairs(features[a] - features[b], (data.weights[a] + data.weights[b]) / 2)


def load_svmrank(folder: Path) -> SVMRank:
    """Return what `SVMRank.save` wrote; raises NotFoundError or CorruptDataError."""
    file = folder / _FILE
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
        mean, scale, weights = (
            np.array(plain[name], np.float64) for name in ("mean", "scale", "weights")
        )
    except FileNotFoundError:
        raise NotFoundError(f"{file} is not there: train the ranker again") from None
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptDataError(f"{file} cannot be read: {error!r}") from None
    return SVMRank(Standardiser(mean, scale), weights)
