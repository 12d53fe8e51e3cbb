"""The cache: asks once, survives kill -9, serves several processes, refuses foreign files."""

import multiprocessing
import os
import pickle
import signal

import numpy as np
import pytest

from collegium.core import CorruptDataError
from collegium.embedding import CachedEmbedder, HashEmbedder


class Counting(HashEmbedder):
    """Remembers what it was asked."""

    def __init__(self, dimension: int = 16) -> None:
        super().__init__(dimension)
        self.asked: list[str] = []

    def embed(self, texts):
        self.asked += texts
        return super().embed(texts)


def test_each_text_is_embedded_once_ever(tmp_path):
    inner = Counting()
    cached = CachedEmbedder(inner, tmp_path)
    first = cached.embed(["a", "b", "a"])
    assert np.array_equal(first, HashEmbedder(16).embed(["a", "b", "a"]))
    cached.embed(["b", "c"])
    assert inner.asked == ["a", "b", "c"]
    again = Counting()
    assert np.array_equal(CachedEmbedder(again, tmp_path).embed(["a", "b", "a"]), first)
    assert again.asked == []


def test_embedders_do_not_share_vectors(tmp_path):
    CachedEmbedder(Counting(16), tmp_path).embed(["a"])
    other = Counting(8)
    assert CachedEmbedder(other, tmp_path).embed(["a"]).shape == (1, 8)
    assert other.asked == ["a"]


def test_memory_is_bounded_and_the_rest_is_on_disk(tmp_path):
    inner = Counting()
    cached = CachedEmbedder(inner, tmp_path, recent=2)
    texts = [str(i) for i in range(10)]
    cached.embed(texts)
    assert np.array_equal(cached.embed(texts), HashEmbedder(16).embed(texts))
    assert len(cached._recent) == 2
    assert len(inner.asked) == 10


def test_it_pickles_and_goes_on(tmp_path):
    cached = CachedEmbedder(Counting(), tmp_path)
    cached.embed(["a"])
    copy = pickle.loads(pickle.dumps(cached))
    copy.embed(["a", "b"])
    assert copy._inner.asked[-1] == "b"


def _fill(directory, start: int, stop: int, kill: bool) -> None:
    cached = CachedEmbedder(HashEmbedder(16), directory)
    for i in range(start, stop):
        cached.embed([f"text {i}"])
    if kill:
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_was_returned_survives_kill_9_of_concurrent_writers(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    ranges = [(0, 60), (30, 90)]
    workers = [spawn.Process(target=_fill, args=(tmp_path, *r, True)) for r in ranges]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == -signal.SIGKILL
    inner = Counting()
    texts = [f"text {i}" for i in range(90)]
    vectors = CachedEmbedder(inner, tmp_path).embed(texts)
    assert inner.asked == []
    assert np.array_equal(vectors, HashEmbedder(16).embed(texts))


def test_a_foreign_file_is_refused_with_a_remedy(tmp_path):
    (tmp_path / "embeddings.sqlite").write_bytes(b"this is not a database" * 100)
    with pytest.raises(CorruptDataError, match="delete the file"):
        CachedEmbedder(HashEmbedder(), tmp_path)
