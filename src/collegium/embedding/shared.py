"""One embedder for several threads: what they ask while it is at work is embedded together next.

A forward pass over a few short texts costs hardly more than one over a single text, so callers that
would stand in line make one batch instead.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collegium.embedding.protocol import Embedder

Vectors = NDArray[np.float32]


class _Asked(NamedTuple):
    texts: Sequence[str]
    answer: "Future[Vectors]"


class SharedEmbedder:
    """An `Embedder` around one that serves one thread at a time; it stays in its process."""

    def __init__(self, inner: Embedder) -> None:
        """Let callers of any thread use `inner`."""
        self.name = inner.name
        self.dimension = inner.dimension
        self._inner = inner
        self._turn = threading.Lock()
        self._waiting: SimpleQueue[_Asked] = SimpleQueue()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        asked = _Asked(texts, Future())
        self._waiting.put(asked)
        with self._turn:
            if not asked.answer.done():
                self._answer_all()
        return asked.answer.result()

    def _answer_all(self) -> None:
        """Embed for all that wait; what the embedder raises reaches each of them."""
        batch = [self._waiting.get() for _ in range(self._waiting.qsize())]
        try:
            vectors = self._inner.embed([text for asked in batch for text in asked.texts])
        except BaseException as error:
            for asked in batch:
                asked.answer.set_exception(error)
            return
        ends = np.cumsum([len(asked.texts) for asked in batch])
        for asked, part in zip(batch, np.split(vectors, ends[:-1]), strict=True):
            asked.answer.set_result(part)
