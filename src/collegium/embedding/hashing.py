"""An embedder without a model: signed feature hashing of words and word pairs.

Deterministic on every machine, needs no download, a fraction of a millisecond a text. It sees
shared words and nothing else: it is for tests, CI and the smallest demos, not for results.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from collegium.core import InvalidInputError

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """An `Embedder` of unit vectors; a text without words gives the zero vector."""

    def __init__(self, dimension: int = 256) -> None:
        """Make vectors of `dimension` (>= 1)."""
        if dimension < 1:
            raise InvalidInputError(f"an embedding has at least 1 dimension, asked for {dimension}")
        self.name = f"hash-{dimension}"
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for feature, count in Counter(_features(text)).items():
                bits = int.from_bytes(
                    hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big"
                )
                sign = 1.0 if bits & 1 else -1.0
                vector[(bits >> 1) % self.dimension] += sign * count**0.5
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, norms, out=vectors, where=norms > 0)
        return vectors


def _features(text: str) -> Iterator[str]:
    words = _WORD.findall(text.lower())
    yield from words
    yield from (f"{left} {right}" for left, right in pairwise(words))
