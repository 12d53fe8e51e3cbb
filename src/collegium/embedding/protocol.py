"""What an embedder offers: float32 unit or raw vectors, one a text, deterministic."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors."""

    name: str
    """Model name with its weights' digest: names the vectors in caches and indexes."""
    dimension: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        ...
