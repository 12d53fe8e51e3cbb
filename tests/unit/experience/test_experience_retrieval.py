"""Retrieval: nearest first, never from one's own task, one embedder call for many askers."""

import asyncio
import threading

import pytest

from collegium.agents import GuidanceSource
from collegium.core import InvalidInputError, Query
from collegium.embedding import HashEmbedder
from collegium.experience.chunks import chunk_trajectory
from collegium.experience.index import ExactIndex, IndexHeader, Scope
from collegium.experience.retrieval import IndexRetriever, RetrievalConfig

GRAMMAR = "test-grammar"


class Recording(HashEmbedder):
    """Notes the size of each batch; can hold the first one until told to go on."""

    def __init__(self) -> None:
        super().__init__(64)
        self.batches: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.fails = False

    def embed(self, texts):
        self.batches.append(len(texts))
        assert self.gate.wait(10)
        if self.fails:
            raise RuntimeError("no device")
        return super().embed(texts)


@pytest.fixture
def embedder() -> Recording:
    return Recording()


@pytest.fixture
def index(tmp_path, make_trajectory, embedder) -> ExactIndex:
    header = IndexHeader(embedder=embedder.name, dimension=64, grammar=GRAMMAR)
    index = ExactIndex(tmp_path, header)
    for number in range(6):
        chunks = chunk_trajectory(
            make_trajectory(4, task_id=f"t{number}", task_type=["pick", "heat"][number % 2]),
            partition=number // 2,
        )
        index.add(chunks, HashEmbedder(64).embed([c.key_text for c in chunks]))
    return index


def query_of(index: ExactIndex, number: int, progress: int, grammar: str = GRAMMAR) -> Query:
    chunk = next(c for c in index.chunks() if (c.task_id, c.progress) == (f"t{number}", progress))
    return Query(
        environment=chunk.environment,
        task_id=chunk.task_id,
        task_type=chunk.task_type,
        goal=chunk.goal,
        state=chunk.state,
        context=chunk.context,
        progress=chunk.progress,
        grammar=grammar,
        consumer="c",
    )


def ask(retriever: GuidanceSource, query: Query, k: int = 20):
    return asyncio.run(retriever.retrieve(query, k))


def test_the_own_chunk_is_nearest_when_it_is_allowed(index, embedder):
    retriever = IndexRetriever(index, embedder, RetrievalConfig(exclude_own_task=False))
    found = ask(retriever, query_of(index, 3, 2))
    assert found[0].chunk.task_id == "t3"
    assert found[0].chunk.progress == 2
    assert found[0].retrieval_score == pytest.approx(0.0, abs=1e-12)
    assert [g.rank for g in found] == list(range(1, 21))
    assert [g.retrieval_score for g in found] == sorted(g.retrieval_score for g in found)


def test_the_own_task_is_left_out_and_costs_no_result(index, embedder):
    found = ask(IndexRetriever(index, embedder), query_of(index, 3, 2), k=20)
    assert len(found) == 20
    assert "t3" not in {g.chunk.task_id for g in found}


@pytest.mark.parametrize(("scope", "types"), [("same_task", {"heat"}), ("cross_task", {"pick"})])
def test_scopes_compare_task_types(index, embedder, scope, types):
    retriever = IndexRetriever(index, embedder, RetrievalConfig(scope=Scope(scope)))
    found = ask(retriever, query_of(index, 3, 2))
    assert {g.chunk.task_type for g in found} == types


def test_as_of_hides_later_partitions(index, embedder):
    found = ask(IndexRetriever(index, embedder, as_of=0), query_of(index, 5, 1))
    assert {g.chunk.partition for g in found} == {0}
    assert len(found) == 8


def test_concurrent_queries_share_one_call_and_get_their_own_answers(index, embedder):
    retriever = IndexRetriever(index, embedder)
    queries = [query_of(index, n, p) for n in range(6) for p in range(4)]
    alone = [ask(retriever, query, k=1 + i % 3) for i, query in enumerate(queries)]
    embedder.batches.clear()

    async def all_at_once():
        return await asyncio.gather(
            *(retriever.retrieve(query, 1 + i % 3) for i, query in enumerate(queries))
        )

    assert asyncio.run(all_at_once()) == alone
    assert embedder.batches == [24]


def test_who_comes_while_a_batch_runs_joins_the_next(index, embedder):
    retriever = IndexRetriever(index, embedder)

    async def late_comers():
        embedder.gate.clear()
        first = asyncio.create_task(retriever.retrieve(query_of(index, 0, 0), 1))
        while not embedder.batches:
            await asyncio.sleep(0.001)
        late = [asyncio.create_task(retriever.retrieve(query_of(index, n, 1), 1)) for n in range(5)]
        await asyncio.sleep(0)
        embedder.gate.set()
        return await asyncio.gather(first, *late)

    assert all(len(found) == 1 for found in asyncio.run(late_comers()))
    assert embedder.batches == [1, 5]


def test_a_failure_reaches_every_asker_and_the_next_call_works(index, embedder):
    retriever = IndexRetriever(index, embedder)

    async def both():
        query = query_of(index, 0, 0)
        return await asyncio.gather(
            *(retriever.retrieve(query, 1) for _ in range(3)), return_exceptions=True
        )

    embedder.fails = True
    assert [str(error) for error in asyncio.run(both())] == ["no device"] * 3
    embedder.fails = False
    assert len(asyncio.run(both())) == 3


def test_a_cancelled_asker_does_not_disturb_the_others(index, embedder):
    retriever = IndexRetriever(index, embedder)

    async def one_leaves():
        embedder.gate.clear()
        tasks = [
            asyncio.create_task(retriever.retrieve(query_of(index, n, 0), 1)) for n in range(2)
        ]
        while not embedder.batches:
            await asyncio.sleep(0.001)
        tasks[0].cancel()
        embedder.gate.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    gone, stayed = asyncio.run(one_leaves())
    assert isinstance(gone, asyncio.CancelledError)
    assert len(stayed) == 1


def test_what_does_not_fit_is_refused(index, embedder):
    retriever = IndexRetriever(index, embedder)
    with pytest.raises(InvalidInputError, match="another grammar"):
        ask(retriever, query_of(index, 0, 0, grammar="old"))
    with pytest.raises(InvalidInputError, match="k=0"):
        ask(retriever, query_of(index, 0, 0), k=0)
    with pytest.raises(InvalidInputError, match="same embedder"):
        IndexRetriever(index, HashEmbedder(8))
