"""The cascade: new order, ties, candidates without numbers, showing nothing, bad requests."""

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_labels import EMBEDDER, ranking_data

from collegium.core import Guidance, InvalidInputError
from collegium.embedding import HashEmbedder
from collegium.ranking.card import RankerCard, RankingModel
from collegium.ranking.cascade import RerankingSource
from collegium.ranking.metrics import measure
from collegium.ranking.protocol import UNCOMPUTABLE


class FirstStage:
    """Gives the candidates it was made with."""

    def __init__(self, guidance):
        self.guidance = guidance
        self.asked = []

    async def retrieve(self, query, k):
        self.asked.append(k)
        return self.guidance[:k]


class ByColumn:
    """Scores by one column, rounded, so that there are ties."""

    kind = "column"

    def __init__(self, place, sign=1.0):
        self._place = place
        self._sign = sign

    def score(self, features):
        return self._sign * np.round(features[:, self._place], 1)

    def save(self, folder):
        raise NotImplementedError


@pytest.fixture(scope="module")
def data():
    return ranking_data()


def model(data, ranker, *, null=False):
    whole = data.training_set("paper", null=False)[0]
    card = RankerCard(
        name="m",
        kind=ranker.kind,
        features=data.schema,
        schema_hash=data.schema.hash,
        hyperparameters={},
        seed=0,
        target="paper",
        grades={},
        null_candidate=null,
        labels="l",
        run="r",
        groups=1,
        metrics=measure(whole, np.zeros(len(whole.labels))),
        cross_validated=measure(whole, np.zeros(len(whole.labels))),
        files={},
    )
    return RankingModel(card, ranker, data.resources)


def asked(data, count=5, scores=None):
    rows = data.labels[:count]
    scores = scores or [row.retrieval_score for row in rows]
    guidance = [
        Guidance(chunk=row.as_chunk(), rank=rank, retrieval_score=score)
        for rank, (row, score) in enumerate(zip(rows, scores, strict=True), start=1)
    ]
    return rows[0].as_query(), guidance


def source(data, guidance, *, sign=1.0, null=False, column="retriever_score"):
    ranker = ByColumn(data.schema.blocks[column].start, sign)
    return RerankingSource(FirstStage(guidance), model(data, ranker, null=null), EMBEDDER)


def test_the_best_come_first_with_new_ranks(data):
    query, guidance = asked(data)
    cascade = source(data, guidance)
    found = asyncio.run(cascade.retrieve(query, 2))
    assert [one.chunk.chunk_id for one in found] == [g.chunk.chunk_id for g in guidance[:2:-1]]
    assert [one.rank for one in found] == [1, 2]
    assert cascade._first_stage.asked == [20]


@settings(max_examples=30, deadline=None)
@given(scores=st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=5, max_size=5))
def test_equal_scores_keep_the_first_stages_order(data, scores):
    query, guidance = asked(data, scores=scores)
    ranked = asyncio.run(source(data, guidance).rank(query)).candidates
    expected = sorted(range(5), key=lambda i: (-scores[i], i))
    assert [one.guidance.rank - 1 for one in ranked] == expected


def test_a_candidate_without_numbers_comes_last(data):
    query, guidance = asked(data, scores=[float("nan"), 0.1, 0.2, 0.3, 0.4])
    ranked = asyncio.run(source(data, guidance).rank(query)).candidates
    assert ranked[-1].guidance.rank == 1
    assert ranked[-1].score == UNCOMPUTABLE


def test_nothing_is_shown_where_nothing_is_best(data):
    query, guidance = asked(data)
    for sign, expected in ((1.0, 5), (-1.0, 0)):
        cascade = source(data, guidance, sign=sign, null=True)
        ranked = asyncio.run(cascade.rank(query))
        assert (ranked.null_score, ranked.above_null) == (0.0, expected)
        assert len(asyncio.run(cascade.retrieve(query, 9))) == expected


def test_a_candidate_as_good_as_nothing_is_shown(data):
    query, guidance = asked(data)
    cascade = source(data, guidance, null=True, column="task_variation_match")
    assert len(asyncio.run(cascade.retrieve(query, 1))) == 1


def test_no_candidates_give_no_guidance(data):
    query, _ = asked(data)
    for null in (False, True):
        assert asyncio.run(source(data, [], null=null).retrieve(query, 1)) == []


def test_concurrent_queries_get_their_own_answers(data):
    query, guidance = asked(data)
    cascade = source(data, guidance)
    others = [query.model_copy(update={"progress": i}) for i in range(8)]

    async def all_at_once():
        return await asyncio.gather(*(cascade.rank(other) for other in others))

    ranked = asyncio.run(all_at_once())
    assert len({tuple(one.guidance.rank for one in each.candidates) for each in ranked}) == 1


def test_bad_requests_are_refused(data):
    query, guidance = asked(data)
    cascade = source(data, guidance)
    with pytest.raises(InvalidInputError, match="k=0"):
        asyncio.run(cascade.retrieve(query, 0))
    with pytest.raises(InvalidInputError, match="grammar"):
        asyncio.run(cascade.rank(query.model_copy(update={"grammar": "old"})))
    ranker = ByColumn(0)
    with pytest.raises(InvalidInputError, match="hash-8"):
        RerankingSource(FirstStage([]), model(data, ranker), HashEmbedder(8))
    with pytest.raises(InvalidInputError, match="at least 1"):
        RerankingSource(FirstStage([]), model(data, ranker), EMBEDDER, candidates=0)
