"""The cascade retrieve -> rerank (MATM §3.2): a guidance source over another one.

The first stage finds candidates, a trained ranker orders them. Equal scores go to the earlier rank
of the first stage. A model trained with the null candidate may say that showing nothing is best:
candidates below it are not returned.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from collegium.agents.protocol import GuidanceSource
from collegium.core import Chunk, Guidance, InvalidInputError, Query
from collegium.embedding import Embedder
from collegium.experience.batching import MicroBatcher
from collegium.ranking.card import RankingModel
from collegium.ranking.features import Candidates, FeatureExtractor
from collegium.ranking.protocol import UNCOMPUTABLE, Matrix, Personalised, Vector

CANDIDATES = 20
"""Candidates that are reranked, as in the paper."""


class RankedCandidate(NamedTuple):
    """A candidate in its new place."""

    guidance: Guidance
    """As the first stage gave it: `rank` is its rank there."""
    score: float


class RankedList(NamedTuple):
    """All candidates of one query, best first."""

    candidates: tuple[RankedCandidate, ...]
    null_score: float | None
    """Score of showing nothing; None when the model was not trained to say so."""

    @property
    def above_null(self) -> int:
        """How many candidates are better than showing nothing, or as good; they come first."""
        if self.null_score is None:
            return len(self.candidates)
        return sum(candidate.score >= self.null_score for candidate in self.candidates)

    def top(self, k: int) -> list[Guidance]:
        """Return at most `k` candidates worth showing, with their new ranks, from 1."""
        return [
            candidate.guidance.model_copy(update={"rank": rank})
            for rank, candidate in enumerate(self.candidates[: min(k, self.above_null)], start=1)
        ]


class Reranker:
    """Orders candidates by a model; serves all callers of one event loop, in batches."""

    def __init__(
        self,
        model: RankingModel,
        embedder: Embedder,
        clones: Mapping[str, str] | None = None,
    ) -> None:
        """Order by `model`.

        Args:
            model: Scores the candidates.
            embedder: The one of the model's features; put a `CachedEmbedder` around slow ones.
            clones: Consumer -> clone group. A personalised model serves a consumer that it was
                not trained on by its group, or by the whole population where that is not known.

        Raises:
            InvalidInputError: The model's features were made with another embedder.
        """
        self.model = model
        known = set(model.schema.consumers)
        self._newcomers = {a: g for a, g in (clones or {}).items() if a not in known}
        self._extractor = FeatureExtractor(model.schema, model.resources, embedder)
        self._batcher = MicroBatcher(self._order)

    def check(self, query: Query) -> None:
        """Raise InvalidInputError when `query` has another grammar than the model."""
        self._extractor.check(query)

    def prepare(self, chunks: Iterable[Chunk]) -> None:
        """Compute what depends on chunks alone, ahead of the queries that find them."""
        self._extractor.prepare(chunks)

    async def order(self, query: Query, guidance: Sequence[Guidance]) -> RankedList:
        """Return all of `guidance`, which stands in the first stage's order, in the model's."""
        self.check(query)
        return await self._batcher.submit(Candidates(query, guidance))

    def _order(self, requests: Sequence[Candidates]) -> list[RankedList]:
        null = self.model.card.null_candidate
        matrices = self._extractor.matrices(requests, null=null)
        self.model.check_schema(self._extractor.schema_hash)
        return [
            _ranked(guidance, self._scores(query.consumer, matrix), null)
            for (query, guidance), matrix in zip(requests, matrices, strict=True)
        ]

    def _scores(self, consumer: str, features: Matrix) -> Vector:
        """Return the scores of `features`; rows that hold no number score `UNCOMPUTABLE`."""
        scores = np.full(len(features), UNCOMPUTABLE)
        sound = np.isfinite(features).all(axis=1)
        if sound.any():
            scores[sound] = self._computed(consumer, features[sound])
        return scores

    def _computed(self, consumer: str, features: Matrix) -> Vector:
        ranker = self.model.ranker
        if consumer in self._newcomers and isinstance(ranker, Personalised):
            return ranker.score_as(features, self._newcomers[consumer])
        return ranker.score(features)


class RerankingSource:
    """A `GuidanceSource`; serves all episodes of one event loop, ranking them in batches."""

    def __init__(
        self,
        first_stage: GuidanceSource,
        model: RankingModel,
        embedder: Embedder,
        candidates: int = CANDIDATES,
        clones: Mapping[str, str] | None = None,
    ) -> None:
        """Rerank what `first_stage` finds.

        Args:
            first_stage: Finds the candidates.
            model: Orders them.
            embedder: See `Reranker`.
            candidates: Asked of the first stage, at least 1.
            clones: See `Reranker`.

        Raises:
            InvalidInputError: The model's features were made with another embedder.
        """
        if candidates < 1:
            raise InvalidInputError(f"a cascade ranks at least 1 candidate, asked for {candidates}")
        self._first_stage = first_stage
        self._candidates = candidates
        self._reranker = Reranker(model, embedder, clones)

    def prepare(self, chunks: Iterable[Chunk]) -> None:
        """See `Reranker.prepare`."""
        self._reranker.prepare(chunks)

    async def retrieve(self, query: Query, k: int) -> list[Guidance]:
        """Return at most `k` candidates, best first; none where nothing is best.

        Raises:
            InvalidInputError: The query has another grammar than the model, or k < 1.
        """
        if k < 1:
            raise InvalidInputError(f"a retrieval returns at least 1 chunk, asked for k={k}")
        return (await self.rank(query)).top(k)

    async def rank(self, query: Query) -> RankedList:
        """Return all candidates of the first stage in their new order."""
        self._reranker.check(query)
        found = await self._first_stage.retrieve(query, self._candidates)
        return await self._reranker.order(query, found)


def _ranked(guidance: Sequence[Guidance], scores: Vector, null: bool) -> RankedList:
    """Order one query's candidates; with `null` the last score is that of showing nothing."""
    order = np.argsort(-scores[: len(guidance)], kind="stable")
    return RankedList(
        tuple(RankedCandidate(guidance[i], float(scores[i])) for i in order),
        float(scores[-1]) if null else None,
    )
