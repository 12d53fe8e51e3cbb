"""One embedder for several threads, which take turns."""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from collegium.embedding.protocol import Embedder


class SharedEmbedder:
    """An `Embedder` around one that serves one thread at a time; it stays in its process."""

    def __init__(self, inner: Embedder) -> None:
        """Let callers of any thread use `inner`, one after the other."""
        self.name = inner.name
        self.dimension = inner.dimension
        self._inner = inner
        self._turn = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        with self._turn:
            return self._inner.embed(texts)
