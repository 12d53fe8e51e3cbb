"""What a ranker offers: a score for each candidate, from its features alone."""

from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

UNCOMPUTABLE = -1e9
"""Score of a candidate whose features could not be computed."""


class Ranker(Protocol):
    """Scores candidates; deterministic, and safe to call from one thread at a time."""

    @property
    def kind(self) -> str:
        """Which ranker it is, e.g. `lambdamart`."""
        ...

    def score(self, features: Matrix) -> Vector:
        """Return one finite score a row of `features` (n, columns); higher is better.

        A row's score does not depend on the other rows.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write the ranker's own files into `folder`, which is there."""
        ...


@runtime_checkable
class Personalised(Ranker, Protocol):
    """A ranker that can serve an agent of which it knows no more than its clone group."""

    def score_as(self, features: Matrix, group: str) -> Vector:
        """Return scores for an agent of `group` that has no labels of its own."""
        ...
