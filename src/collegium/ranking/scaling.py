"""Features brought to mean 0 and standard deviation 1 on the training set."""

from typing import NamedTuple

import numpy as np

from collegium.ranking.protocol import Matrix, Vector


class Standardiser(NamedTuple):
    """Mean and divisor of each column; a column that never varied is only shifted."""

    mean: Vector
    scale: Vector

    @classmethod
    def fit(cls, features: Matrix) -> "Standardiser":
        """Measure the columns of `features`."""
        scale = features.std(axis=0)
        return cls(features.mean(axis=0), np.where(scale > 0, scale, 1.0))

    def __call__(self, features: Matrix) -> Matrix:
        """Return standardised features."""
        return np.asarray((features - self.mean) / self.scale)
