"""One embedder for several threads: every caller gets its own vectors, in fewer calls."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from collegium.embedding.hashing import HashEmbedder
from collegium.embedding.shared import SharedEmbedder


class _Gated:
    """Embeds only once it is let, and counts its calls."""

    def __init__(self):
        self._inner = HashEmbedder(16)
        self.name, self.dimension = self._inner.name, self._inner.dimension
        self.entered, self.let = threading.Event(), threading.Event()
        self.calls = []

    def embed(self, texts):
        self.calls.append(len(texts))
        self.entered.set()
        assert self.let.wait(10)
        if "bad" in texts:
            raise RuntimeError("no vector for that")
        return self._inner.embed(texts)


def test_what_is_asked_meanwhile_is_embedded_together():
    gated = _Gated()
    shared = SharedEmbedder(gated)
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(shared.embed, ["one"])
        assert gated.entered.wait(10)
        others = [pool.submit(shared.embed, [f"text {i}"] * (i % 3)) for i in range(8)]
        while shared._waiting.qsize() < 8:
            pass
        gated.let.set()
        found = [first.result(10), *(other.result(10) for other in others)]
    alone = HashEmbedder(16)
    expected = [["one"], *([f"text {i}"] * (i % 3) for i in range(8))]
    assert gated.calls == [1, 7]
    for vectors, texts in zip(found, expected, strict=True):
        np.testing.assert_array_equal(vectors, alone.embed(texts))


def test_a_failure_reaches_all_of_its_batch_and_nobody_after():
    gated = _Gated()
    gated.let.set()
    shared = SharedEmbedder(gated)
    with pytest.raises(RuntimeError, match="no vector"):
        shared.embed(["bad"])
    assert shared.embed(["good"]).shape == (1, 16)
