"""LambdaMART: boosted trees that learn the order within groups, by LightGBM.

The model file is LightGBM's own text. One thread and fixed seeds: equal data, equal scores.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from collegium.core import CorruptDataError, NotFoundError
from collegium.ranking.configs import LambdaMARTConfig
from collegium.ranking.groups import TrainingSet
from collegium.ranking.protocol import Matrix, Vector
from collegium.store.files import write_text

if TYPE_CHECKING:
    from lightgbm import Booster

_FILE = "lambdamart.txt"


class LambdaMART:
    """A `Ranker` of boosted trees."""

    kind = "lambdamart"

    def __init__(self, booster: "Booster") -> None:
        self.booster = booster

    def score(self, features: Matrix) -> Vector:
        """See `Ranker.score`."""
        return np.asarray(self.booster.predict(features, num_threads=1), np.float64)

    def save(self, folder: Path) -> None:
        """See `Ranker.save`."""
        write_text(folder / _FILE, self.booster.model_to_string())


def fit_lambdamart(config: LambdaMARTConfig, data: TrainingSet, seed: int) -> LambdaMART:
    """Train on `data`."""
    import lightgbm

    dataset = lightgbm.Dataset(
        data.features, data.grades, group=data.sizes, weight=data.weights, free_raw_data=True
    )
    return LambdaMART(lightgbm.train(_parameters(config, data, seed), dataset, config.trees))


def _parameters(config: LambdaMARTConfig, data: TrainingSet, seed: int) -> dict[str, Any]:
    return {
        "objective": "lambdarank",
        "label_gain": data.scale.gains,
        "num_leaves": config.leaves,
        "max_depth": config.depth,
        "learning_rate": config.learning_rate,
        "min_data_in_leaf": config.min_leaf,
        "seed": seed % 2**31,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }


def load_lambdamart(folder: Path) -> LambdaMART:
    """Return what `LambdaMART.save` wrote; raises NotFoundError or CorruptDataError."""
    import lightgbm

    file = folder / _FILE
    if not file.is_file():
        raise NotFoundError(f"{file} is not there: train the ranker again")
    try:
        return LambdaMART(lightgbm.Booster(model_str=file.read_text(encoding="utf-8")))
    except (lightgbm.basic.LightGBMError, ValueError) as error:
        raise CorruptDataError(f"{file} is no model of LightGBM: {error}") from None
