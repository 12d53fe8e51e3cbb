"""Computes the 44 features: one code path for training and for live requests (formulas §2.2).

All candidates of a query are computed at once. Bags of the texts seen last are kept, because the
chunks of an index come back again and again; vectors are the embedder's to keep, so put a
`CachedEmbedder` around a slow one, and `prepare` what is known before requests come.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from collegium.core import Chunk, Guidance, InvalidInputError, Query
from collegium.embedding import Embedder
from collegium.ranking.pairs import (
    Vectors,
    match_features,
    part_distances,
    text_features,
    trajectory_features,
)
from collegium.ranking.protocol import Matrix
from collegium.ranking.resources import FeatureResources
from collegium.ranking.schema import BENCHMARKS, CONSUMER_ID, PARTS, PRODUCER_ID, FeatureSchema
from collegium.ranking.texts import Bags, TextAnalyser

RECENT = 8192
"""Texts whose bags are kept, about 10 KB each."""


class Request(Protocol):
    """A query with its candidates."""

    @property
    def query(self) -> Query:
        """What is asked."""
        ...

    @property
    def guidance(self) -> Sequence[Guidance]:
        """The candidates, by the first stage's rank."""
        ...


class Candidates(NamedTuple):
    """A query with its candidates."""

    query: Query
    guidance: Sequence[Guidance]


class FeatureExtractor:
    """Computes matrices of one schema; for one thread at a time."""

    def __init__(
        self, schema: FeatureSchema, resources: FeatureResources, embedder: Embedder
    ) -> None:
        """Compute by `schema`.

        Raises:
            InvalidInputError: The embedder or the resources are not those of the schema.
        """
        if embedder.name != schema.embedder:
            raise InvalidInputError(
                f"the features were made with vectors of {schema.embedder!r}, these would come "
                f"from {embedder.name!r}: use the same embedder, or train the ranker again"
            )
        if resources.digest != schema.resources:
            raise InvalidInputError(
                f"the schema {schema.hash} belongs to other resources ({schema.resources}, not "
                f"{resources.digest}): load both from one model"
            )
        self.schema = schema
        self.schema_hash = schema.hash
        self._width = len(schema.columns)
        self._resources = resources
        self._embedder = embedder
        self._analyser = TextAnalyser(resources.vectorisers)
        self._bags = lru_cache(maxsize=RECENT)(self._analyse)
        self._producers = {name: i for i, name in enumerate(schema.producers)}
        self._consumers = {name: i for i, name in enumerate(schema.consumers)}
        self._producer_columns = schema.span(BENCHMARKS[0], PRODUCER_ID)
        self._consumer_columns = schema.span(CONSUMER_ID, CONSUMER_ID)
        self._score_column = schema.span("retriever_score", "retriever_score")
        self._query_columns = schema.span("query_length", "step_index")
        self._candidate_columns = schema.span("retrieved_text_length", "task_variation_match")

    def check(self, query: Query) -> None:
        """Raise InvalidInputError when `query` has another grammar than the schema."""
        if query.grammar != self.schema.grammar:
            raise InvalidInputError(
                f"the query of {query.consumer!r} has grammar {query.grammar!r}, the model was "
                f"trained on {self.schema.grammar!r}"
            )

    def prepare(self, chunks: Iterable[Chunk]) -> None:
        """Compute what depends on chunks alone, ahead of requests."""
        known = list(chunks)
        self._embed(text for chunk in known for text in (chunk.goal, chunk.state, chunk.context))
        for chunk in known[-RECENT:]:
            self._bags(chunk.goal, chunk.state, chunk.context, chunk.key_text)

    def matrix(self, query: Query, guidance: Sequence[Guidance], *, null: bool = False) -> Matrix:
        """Return the features of the candidates of one query; see `matrices`."""
        return self.matrices([Candidates(query, guidance)], null=null)[0]

    def matrices(self, requests: Sequence[Request], *, null: bool = False) -> list[Matrix]:
        """Return one matrix a request, of shape (candidates, columns), float64.

        With `null`, a last row stands for showing nothing: features of query and consumer as in
        the other rows, everything else 0. A candidate without a number somewhere (a distance that
        is NaN, say) keeps it, for the ranker's caller to see.
        """
        vectors = self._embed(text for request in requests for text in _texts(request))
        return [
            self._matrix(request.query, request.guidance, vectors, null) for request in requests
        ]

    def _matrix(
        self, query: Query, guidance: Sequence[Guidance], vectors: Vectors, null: bool
    ) -> Matrix:
        asked = np.array([len(query.key_text.split()), query.progress], np.float64)
        consumer = _one_hot(self._consumers, [query.consumer])[0]
        rows = np.zeros((len(guidance) + null, self._width))
        rows[:, self._consumer_columns] = consumer
        rows[:, self._query_columns] = asked
        if guidance:
            self._fill(rows[: len(guidance)], query, guidance, vectors)
        return rows

    def _fill(
        self, rows: Matrix, query: Query, guidance: Sequence[Guidance], vectors: Vectors
    ) -> None:
        """Fill everything that depends on the candidates."""
        chunks = [candidate.chunk for candidate in guidance]
        producers = [chunk.producer for chunk in chunks]
        scores = np.array([candidate.retrieval_score for candidate in guidance])
        parts = [part_distances(query, chunks, vectors, part) for part in PARTS[1:]]
        rows[:, self._producer_columns] = np.hstack(
            [
                np.array([self._resources.benchmarks.of(name) for name in producers]),
                _one_hot(self._producers, producers),
            ]
        )
        rows[:, self._candidate_columns] = np.column_stack(
            [
                [trajectory_features(chunk) for chunk in chunks],
                np.sqrt(np.maximum(scores, 0.0)),
                *parts,
                self._text_features(query, chunks),
                [match_features(query, chunk) for chunk in chunks],
            ]
        )
        rows[:, self._score_column] = scores[:, None]

    def _text_features(self, query: Query, chunks: Sequence[Chunk]) -> Matrix:
        asked = self._bags(query.goal, query.state, query.context, query.key_text)
        found = [self._bags(c.goal, c.state, c.context, c.key_text) for c in chunks]
        return text_features(asked, found)

    def _analyse(self, goal: str, state: str, context: str, key_text: str) -> Bags:
        return self._analyser.bags((key_text, goal, state, context))

    def _embed(self, texts: Iterable[str]) -> Vectors:
        """Embed each text once; an empty one is the zero vector."""
        place = {text: i for i, text in enumerate(dict.fromkeys(text for text in texts if text))}
        rows = np.zeros((len(place) + 1, self._embedder.dimension), np.float64)
        if place:
            rows[:-1] = self._embedder.embed(list(place))
        return Vectors({**place, "": len(place)}, rows)


def _texts(request: Request) -> Iterator[str]:
    """Yield what is embedded, query first."""
    query = request.query
    yield from (query.goal, query.state, query.context)
    for candidate in request.guidance:
        chunk = candidate.chunk
        yield from (chunk.goal, chunk.state, chunk.context)


def _one_hot(places: Mapping[str, int], names: Sequence[str]) -> Matrix:
    """Return one row a name; a name without a place is all zeros."""
    rows = np.zeros((len(names), len(places)))
    for row, name in zip(rows, names, strict=True):
        if name in places:
            row[places[name]] = 1.0
    return rows
