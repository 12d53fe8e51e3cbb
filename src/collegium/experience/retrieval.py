"""Single-stage retrieval: embed the query, search the index (MATM §3.1).

A consumer is never shown guidance that comes from the very task it plays, unless the configuration
says so; that chunk gives way to the next closest, so it costs no result.
"""

from collections.abc import Sequence
from typing import NamedTuple

from collegium.config import Config
from collegium.core import Guidance, InvalidInputError, Query
from collegium.embedding import Embedder
from collegium.experience.batching import MicroBatcher
from collegium.experience.index import Hit, Scope, SearchFilter, VectorIndex


class RetrievalConfig(Config):
    """What a retrieval may return."""

    scope: Scope = Scope.FULL
    """`full`, `same_task` (only the query's task type) or `cross_task` (only the others)."""
    exclude_own_task: bool = True
    """Leave out chunks of the very task (same task id) that the consumer plays."""


class _Request(NamedTuple):
    query: Query
    k: int


class IndexRetriever:
    """A `GuidanceSource`; serves all episodes of one event loop, embedding them in batches."""

    def __init__(
        self,
        index: VectorIndex,
        embedder: Embedder,
        config: RetrievalConfig | None = None,
        *,
        as_of: int | None = None,
    ) -> None:
        """Search `index` for queries embedded by `embedder`.

        Args:
            index: Where to search.
            embedder: Must be the one that made the index's vectors.
            config: What may be returned; the default configuration when None.
            as_of: Highest partition that is visible; all when None.

        Raises:
            InvalidInputError: The index was built with another embedder.
        """
        if embedder.name != index.header.embedder:
            raise InvalidInputError(
                f"the index holds vectors of {index.header.embedder!r}, the queries would come "
                f"from {embedder.name!r}: use the same embedder, or build the index anew"
            )
        self._index = index
        self._embedder = embedder
        self._config = config or RetrievalConfig()
        self._as_of = as_of
        self._batcher = MicroBatcher(self._search)

    async def retrieve(self, query: Query, k: int) -> list[Guidance]:
        """Return at most `k` pieces of guidance, closest first.

        Raises:
            InvalidInputError: The query has another grammar than the index, or k < 1.
        """
        grammar = self._index.header.grammar
        if query.grammar != grammar:
            raise InvalidInputError(
                f"the query of {query.consumer!r} has grammar {query.grammar!r}, the index has "
                f"{grammar!r}: guidance of another grammar would not be admissible"
            )
        if k < 1:
            raise InvalidInputError(f"a retrieval returns at least 1 chunk, asked for k={k}")
        hits = await self._batcher.submit(_Request(query, k))
        return [
            Guidance(chunk=hit.chunk, rank=rank, retrieval_score=hit.distance)
            for rank, hit in enumerate(hits, start=1)
        ]

    def _search(self, requests: Sequence[_Request]) -> list[list[Hit]]:
        vectors = self._embedder.embed([request.query.key_text for request in requests])
        filters = [self._filter(request.query) for request in requests]
        most = max(request.k for request in requests)
        found = self._index.search(vectors, most, filters)
        return [hits[: request.k] for hits, request in zip(found, requests, strict=True)]

    def _filter(self, query: Query) -> SearchFilter:
        return SearchFilter(
            scope=self._config.scope,
            task_type=query.task_type,
            as_of=self._as_of,
            exclude_task_id=query.task_id if self._config.exclude_own_task else None,
        )
