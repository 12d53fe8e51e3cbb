"""The 20 closest of an index's vectors, found in four ways, one query at a time."""

import json
import statistics
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collegium.core import Clock, SystemClock, generator
from collegium.experience.index import ExactIndex, SearchFilter

QUERIES = 60
Vectors = NDArray[np.float32]
Search = Callable[[Vectors], object]
"""Searches for one query (dimension,)."""


class Searches(NamedTuple):
    """Median milliseconds a query; None where the package is not installed."""

    numpy_p50_ms: float
    """Distances to all vectors by one product, and the smallest of them."""
    index_p50_ms: float
    """Our exact index, chunks included."""
    faiss_p50_ms: float | None
    lancedb_p50_ms: float | None


def compare_searches(folder: Path, k: int) -> Searches:
    """Compare on the vectors of the exact index in `folder`.

    Threads are what the variables of the process say; call it in a process of its own.
    """
    vectors = _vectors(folder)
    rng = generator(0, "bench search")
    rows = rng.choice(len(vectors), QUERIES)
    queries = vectors[rows] + 0.02 * rng.standard_normal(vectors[rows].shape).astype(np.float32)
    clock = SystemClock()
    faiss, lancedb = find_spec("faiss"), find_spec("lancedb")

    def median(search: Search) -> float:
        return _median_ms(search, queries, clock)

    with tempfile.TemporaryDirectory(prefix="collegium-bench-") as scratch:
        return Searches(
            numpy_p50_ms=median(_bare(vectors, k)),
            index_p50_ms=median(_ours(folder, k)),
            faiss_p50_ms=median(_faiss(vectors, k)) if faiss else None,
            lancedb_p50_ms=median(_lancedb(vectors, k, Path(scratch))) if lancedb else None,
        )


def _vectors(folder: Path) -> Vectors:
    names = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["segments"]
    return np.concatenate([np.load(folder / "segments" / f"{name}.npy") for name in names])


def _median_ms(search: Search, queries: Vectors, clock: Clock) -> float:
    seconds = []
    for query in queries:
        started = clock.monotonic()
        search(query)
        seconds.append(clock.monotonic() - started)
    return 1000 * statistics.median(seconds)


def _bare(vectors: Vectors, k: int) -> Search:
    norms = np.einsum("nd,nd->n", vectors, vectors)

    def search(query: Vectors) -> object:
        distances = norms - 2 * (vectors @ query)
        closest = np.argpartition(distances, k)[:k]
        return closest[np.argsort(distances[closest])]

    return search


def _ours(folder: Path, k: int) -> Search:
    index = ExactIndex(folder)
    return lambda query: index.search(query[None], k, [SearchFilter()])


def _faiss(vectors: Vectors, k: int) -> Search:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    return lambda query: index.search(query[None], k)


def _lancedb(vectors: Vectors, k: int, folder: Path) -> Search:
    import lancedb
    import pyarrow as pa

    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    rows = pa.table({"row": pa.array(range(len(vectors))), "vector": column})
    table = lancedb.connect(folder).create_table("vectors", data=rows)
    return lambda query: table.search(query).distance_type("l2").limit(k).to_arrow()
