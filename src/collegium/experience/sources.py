"""Guidance sources to compare retrieval with: any chunk, and the expert's own way through the game.

Both return what `IndexRetriever` would have to: ranks from 1, and the squared L2 distance of the
key embeddings as the score.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collegium.core import Chunk, Guidance, Query, generator
from collegium.embedding import Embedder
from collegium.experience.batching import MicroBatcher
from collegium.experience.index import Scope
from collegium.experience.index.rows import squared_l2
from collegium.experience.retrieval import RetrievalConfig


class _Request(NamedTuple):
    query: Query
    k: int


class RandomSource:
    """Returns chunks drawn at random from all that a retrieval could return, unordered.

    The draw depends on the seed and on who asks where, so a resumed run makes the same one.
    """

    def __init__(
        self, chunks: Iterable[Chunk], embedder: Embedder, config: RetrievalConfig, seed: int
    ) -> None:
        """Draw from `chunks`, as far as `config` admits them for a query."""
        self._chunks = list(chunks)
        self._types = np.array([chunk.task_type for chunk in self._chunks], dtype=np.str_)
        self._tasks = np.array([chunk.task_id for chunk in self._chunks], dtype=np.str_)
        self._embedder = embedder
        self._config = config
        self._seed = seed
        self._batcher = MicroBatcher(self._draw_all)

    async def retrieve(self, query: Query, k: int) -> list[Guidance]:
        """Return at most `k` chunks, each another one."""
        return await self._batcher.submit(_Request(query, k))

    def _draw_all(self, requests: Sequence[_Request]) -> list[list[Guidance]]:
        drawn = [self._draw(request) for request in requests]
        queries = [request.query for request in requests]
        return _scored(queries, drawn, self._embedder)

    def _draw(self, request: _Request) -> list[Chunk]:
        query = request.query
        visible = np.flatnonzero(self._visible(query))
        stream = (query.consumer, query.task_id, query.progress)
        rng = generator(self._seed, "random_chunk", *stream)
        places = rng.choice(visible, size=min(request.k, len(visible)), replace=False)
        return [self._chunks[place] for place in places]

    def _visible(self, query: Query) -> NDArray[np.bool_]:
        visible = np.ones(len(self._chunks), np.bool_)
        if self._config.scope is Scope.SAME_TASK:
            visible &= self._types == query.task_type
        elif self._config.scope is Scope.CROSS_TASK:
            visible &= self._types != query.task_type
        if self._config.exclude_own_task:
            visible &= self._tasks != query.task_id
        return visible


class OwnTaskSource:
    """Returns the closest of those chunks that come from the very task the consumer plays."""

    def __init__(self, chunks: Iterable[Chunk], embedder: Embedder) -> None:
        """Search `chunks`, which are those of the tasks to be played."""
        self._by_task: defaultdict[str, list[Chunk]] = defaultdict(list)
        for chunk in chunks:
            self._by_task[chunk.task_id].append(chunk)
        self._embedder = embedder
        self._batcher = MicroBatcher(self._search)

    async def retrieve(self, query: Query, k: int) -> list[Guidance]:
        """Return at most `k` chunks, closest first; none where the task has none."""
        return await self._batcher.submit(_Request(query, k))

    def _search(self, requests: Sequence[_Request]) -> list[list[Guidance]]:
        queries = [request.query for request in requests]
        own = [self._by_task.get(query.task_id, []) for query in queries]
        found = _scored(queries, own, self._embedder)
        return [
            _ranked(sorted(hits, key=lambda hit: (hit.retrieval_score, hit.chunk.chunk_id)))[:k]
            for hits, (_, k) in zip(found, requests, strict=True)
        ]


def _scored(
    queries: Sequence[Query], chunks: Sequence[Sequence[Chunk]], embedder: Embedder
) -> list[list[Guidance]]:
    """Give each query's chunks their distances; all texts are embedded in one call."""
    texts = [query.key_text for query in queries]
    texts += [chunk.key_text for each in chunks for chunk in each]
    vectors = embedder.embed(texts)
    ends = np.cumsum([len(queries), *map(len, chunks)])
    found = []
    for place, mine in enumerate(chunks):
        distances = squared_l2(vectors[place], vectors[ends[place] : ends[place + 1]])
        found.append(
            _ranked(
                Guidance(chunk=chunk, rank=1, retrieval_score=float(distance))
                for chunk, distance in zip(mine, distances, strict=True)
            )
        )
    return found


def _ranked(found: Iterable[Guidance]) -> list[Guidance]:
    """Number the ranks from 1, in the order given."""
    return [
        guidance.model_copy(update={"rank": rank}) for rank, guidance in enumerate(found, start=1)
    ]
