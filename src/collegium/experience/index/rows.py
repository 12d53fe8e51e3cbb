"""What the backends share: checks, de-duplication, the columns of a row, exact distances."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collegium.core import Chunk, InvalidInputError
from collegium.experience.chunks import dedup_key
from collegium.experience.index.protocol import Census, IndexHeader, SearchFilter

COLUMNS = pa.schema(
    [
        ("chunk_id", pa.string()),
        ("dedup_key", pa.string()),
        ("partition", pa.int32()),
        ("producer", pa.string()),
        ("task_type", pa.string()),
        ("task_id", pa.string()),
        ("record", pa.string()),
    ]
)
"""The chunk itself is the JSON in `record`; the other columns repeat what is filtered on."""


class Batch(NamedTuple):
    """New chunks as columns, with their vectors in the same order."""

    table: pa.Table
    vectors: NDArray[np.float32]


def new_rows(
    header: IndexHeader, chunks: Sequence[Chunk], vectors: NDArray[np.float32], known: set[str]
) -> Batch:
    """Check what is added, drop duplicates, and return the rest as columns.

    Args:
        header: The index's header.
        chunks: What is added.
        vectors: Their vectors, (len(chunks), dimension).
        known: De-duplication keys already in the index; not changed.

    Raises:
        InvalidInputError: As `VectorIndex.add` states.
    """
    check_vectors(header, vectors, len(chunks))
    seen = set(known)
    rows: list[dict[str, Any]] = []
    kept: list[int] = []
    for position, chunk in enumerate(chunks):
        _check_grammar(header, chunk)
        key = dedup_key(chunk)
        if key not in seen:
            seen.add(key)
            kept.append(position)
            rows.append(_row(chunk, key))
    table = pa.Table.from_pylist(rows, schema=COLUMNS)
    return Batch(table, np.ascontiguousarray(vectors[kept], dtype=np.float32))


def check_vectors(header: IndexHeader, vectors: NDArray[np.float32], rows: int) -> None:
    """Refuse vectors of another shape than (rows, dimension), or with values not finite."""
    if vectors.shape != (rows, header.dimension):
        raise InvalidInputError(
            f"expected vectors of shape {(rows, header.dimension)} from embedder "
            f"{header.embedder!r}, got {vectors.shape}"
        )
    if not np.isfinite(vectors).all():
        raise InvalidInputError(f"embedder {header.embedder!r} gave values that are not finite")


def check_search(
    header: IndexHeader, vectors: NDArray[np.float32], k: int, filters: Sequence[SearchFilter]
) -> None:
    """Refuse what `VectorIndex.search` cannot answer."""
    if k < 1:
        raise InvalidInputError(f"a search returns at least 1 hit, asked for k={k}")
    check_vectors(header, vectors, len(filters))


def squared_l2(query: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the squared L2 distance of one query (dimension,) to each row, in float64."""
    difference = rows.astype(np.float64) - query.astype(np.float64)
    distances: NDArray[np.float64] = np.einsum("nd,nd->n", difference, difference)
    return distances


def census_of(table: pa.Table) -> list[Census]:
    """Count the rows by partition, producer and task type."""
    partitions, producers, task_types = (
        table[name].to_pylist() for name in ("partition", "producer", "task_type")
    )
    counts = Counter(zip(partitions, producers, task_types, strict=True))
    return [Census(*group, chunks) for group, chunks in sorted(counts.items())]


def _check_grammar(header: IndexHeader, chunk: Chunk) -> None:
    if chunk.grammar != header.grammar:
        raise InvalidInputError(
            f"chunk {chunk.chunk_id} has grammar {chunk.grammar!r}, the index has "
            f"{header.grammar!r}: translate its trajectory first"
        )


def _row(chunk: Chunk, key: str) -> dict[str, Any]:
    return {
        "chunk_id": chunk.chunk_id,
        "dedup_key": key,
        "partition": chunk.partition,
        "producer": chunk.producer,
        "task_type": chunk.task_type,
        "task_id": chunk.task_id,
        "record": chunk.model_dump_json(),
    }
