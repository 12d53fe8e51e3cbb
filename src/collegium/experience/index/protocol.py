"""What a vector index of chunks offers.

* Distance is squared L2 between float32 vectors, summed in float64; smaller is closer.
* A search returns the `k` closest rows that the filter lets pass, or all there are; equal distances
  are ordered by chunk id. Filters apply before the search, so they never cost results.
* `add` is all or nothing and durable on return. A chunk whose `dedup_key` is already there, or that
  came earlier in the same call, is dropped, so a repeated `add` changes nothing.
* Each chunk carries its partition p; a search "as of" p sees partitions 0 .. p, which is D_p.
* One writer at a time; readers open the index and see what was complete at that moment, until they
  `refresh`.
* An index pickles as its directory, never as an open file.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from collegium.core import Chunk, Record


class Scope(StrEnum):
    """Which chunks a search may return, by task type (formulas §2.1)."""

    FULL = "full"
    """All."""
    SAME_TASK = "same_task"
    """Those of the query's own task type."""
    CROSS_TASK = "cross_task"
    """Those of every other task type."""


class SearchFilter(NamedTuple):
    """What one search may return."""

    scope: Scope = Scope.FULL
    task_type: str = ""
    """The query's task type; read for the scopes that compare it."""
    as_of: int | None = None
    """Highest partition that is visible; all when None."""
    exclude_task_id: str | None = None
    """A task whose own chunks are left out."""


class Hit(NamedTuple):
    """A chunk and its squared L2 distance from the query."""

    chunk: Chunk
    distance: float


class Census(NamedTuple):
    """How many chunks of one partition came from one producer and one task type."""

    partition: int
    producer: str
    task_type: str
    chunks: int


class IndexHeader(Record):
    """What all vectors and chunks of an index have in common; fixed when it is made."""

    schema_version: Literal[1] = 1
    embedder: str
    """`Embedder.name` of the vectors."""
    dimension: int
    grammar: str
    """The one grammar of all chunks."""


class VectorIndex(Protocol):
    """A durable set of chunks that can be searched by vector."""

    header: IndexHeader

    def add(self, chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> int:
        """Store chunks with their vectors (len(chunks), dimension); return how many were new.

        Raises:
            InvalidInputError: The shapes differ, a vector is not finite, or a chunk has another
                grammar than the index.
        """
        ...

    def refresh(self) -> None:
        """See from now on what another process has added so far."""
        ...

    def search(
        self, vectors: NDArray[np.float32], k: int, filters: Sequence[SearchFilter]
    ) -> list[list[Hit]]:
        """Return the closest chunks of each query, closest first.

        Args:
            vectors: Queries, of shape (queries, dimension).
            k: Most hits a query, at least 1.
            filters: One a query.
        """
        ...

    def count(self, as_of: int | None = None) -> int:
        """Return the number of chunks in D_p, or in all partitions."""
        ...

    def census(self) -> list[Census]:
        """Return the counts by partition, producer and task type, in that order."""
        ...

    def chunks(self, as_of: int | None = None) -> Iterator[Chunk]:
        """Yield the chunks of D_p, or all, in the order they were added."""
        ...
