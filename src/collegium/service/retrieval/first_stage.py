"""The first stage: queries that come together are embedded and searched together.

Each batch begins with a look at the library, so a search is never older than its batch.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from collegium.core import Guidance, InvalidInputError, Query
from collegium.embedding import Embedder
from collegium.experience import Scope
from collegium.experience.batching import MicroBatcher
from collegium.experience.index import Hit, SearchFilter
from collegium.service.retrieval.library import Library


class Wanted(NamedTuple):
    """A search in one namespace."""

    namespace: str
    query: Query
    scope: Scope
    exclude_own_task: bool


class Found(NamedTuple):
    """What a search found."""

    guidance: tuple[Guidance, ...]
    """Closest first."""
    as_of: int
    """Position of the ledger up to which everything was searched, and nothing after it."""


class FirstStage:
    """Finds candidates; for callers of one event loop."""

    def __init__(self, library: Library, embedder: Embedder, candidates: int) -> None:
        """Find `candidates` in `library`, which is this object's own."""
        self._library = library
        self._embedder = embedder
        self._candidates = candidates
        self._batcher = MicroBatcher(self._search)

    async def find(self, wanted: Wanted) -> Found:
        """Return the closest chunks; raises InvalidInputError for an unknown grammar."""
        found = await self._batcher.submit(wanted)
        if isinstance(found, InvalidInputError):
            raise found
        return found

    def warm(self) -> None:
        """Read what there is, and embed something, so that the first caller waits no longer."""
        self._library.refresh()
        self._embedder.embed(["goal: to be warm"])

    def _search(self, batch: Sequence[Wanted]) -> list[Found | InvalidInputError]:
        as_of = self._library.refresh().position
        vectors = self._embedder.embed([wanted.query.key_text for wanted in batch])
        places: dict[tuple[str, str], list[int]] = defaultdict(list)
        for row, wanted in enumerate(batch):
            places[wanted.namespace, wanted.query.grammar].append(row)
        answers: dict[int, Found | InvalidInputError] = {}
        for place, rows in places.items():
            index = self._library.index(*place)
            if index is None:
                answers |= dict.fromkeys(rows, self._nothing(*place, as_of))
                continue
            filters = [_filter(batch[row], as_of) for row in rows]
            found = index.search(vectors[rows], self._candidates, filters)
            hits = zip(rows, found, strict=True)
            answers |= {row: Found(_guidance(mine), as_of) for row, mine in hits}
        return [answers[row] for row in range(len(batch))]

    def _nothing(self, namespace: str, grammar: str, as_of: int) -> Found | InvalidInputError:
        known = self._library.grammars(namespace)
        if not known:
            return Found((), as_of)
        return InvalidInputError(
            f"state.grammar: {namespace} has no chunks of grammar {grammar[:64]!r}; known: "
            f"{', '.join(known)}"
        )


def _filter(wanted: Wanted, as_of: int) -> SearchFilter:
    return SearchFilter(
        scope=wanted.scope,
        task_type=wanted.query.task_type,
        as_of=as_of,
        exclude_task_id=wanted.query.task_id if wanted.exclude_own_task else None,
    )


def _guidance(hits: Sequence[Hit]) -> tuple[Guidance, ...]:
    return tuple(
        Guidance(chunk=hit.chunk, rank=rank, retrieval_score=hit.distance)
        for rank, hit in enumerate(hits, start=1)
    )
