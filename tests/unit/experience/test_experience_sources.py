"""What retrieval is compared with: any chunk, one's own game, parts of the memory, failures."""

import asyncio
from itertools import pairwise

import pytest

from collegium.agents import GuidanceSource
from collegium.core import Query
from collegium.embedding import HashEmbedder
from collegium.experience import ExperienceMemory, MemoryConfig, RetrievalConfig, Scope
from collegium.experience.chunks import chunk_trajectory
from collegium.experience.sources import OwnTaskSource, RandomSource
from collegium.experience.subsets import failed_chunks, index_of, subset_of

EMBEDDER = HashEmbedder(64)


@pytest.fixture
def chunks(make_trajectory):
    return [
        chunk
        for n in range(40)
        for chunk in chunk_trajectory(
            make_trajectory(
                4,
                task_id=f"t{n}",
                task_type=["pick", "heat"][n % 2],
                producer=["a", "b"][n % 4 == 0],
            )
        )
    ]


def query(chunk, **changes):
    return Query(
        environment=chunk.environment,
        task_id=chunk.task_id,
        task_type=chunk.task_type,
        goal=chunk.goal,
        state=chunk.state,
        context=chunk.context,
        progress=chunk.progress,
        grammar=chunk.grammar,
        consumer="consumer",
    ).model_copy(update=changes)


def ask(source, *queries, k=3):
    async def work():
        return await asyncio.gather(*(source.retrieve(q, k) for q in queries))

    return asyncio.run(work())


def random_source(chunks, seed=0, **config) -> GuidanceSource:
    return RandomSource(chunks, EMBEDDER, RetrievalConfig(**config), seed)


def test_any_chunk_within_the_scope_and_never_from_ones_own_task(chunks):
    asked = query(chunks[0])
    own_type = {c.task_type for c in chunks if c.task_id == asked.task_id}
    for scope, kept in ((Scope.SAME_TASK, True), (Scope.CROSS_TASK, False)):
        (found,) = ask(random_source(chunks, scope=scope), asked, k=1000)
        assert found
        assert {g.chunk.task_type in own_type for g in found} == {kept}
        assert asked.task_id not in {g.chunk.task_id for g in found}
        assert len({g.chunk.chunk_id for g in found}) == len(found)


def test_the_draw_is_repeatable_and_told_with_its_distance(chunks):
    asked = query(chunks[0])
    first, again = (ask(random_source(chunks), asked)[0] for _ in range(2))
    assert first == again
    assert [g.rank for g in first] == [1, 2, 3]
    assert all(g.retrieval_score > 0 for g in first)
    (other,) = ask(random_source(chunks, seed=1), asked)
    assert other != first
    (later,) = ask(random_source(chunks), query(chunks[0], progress=1))
    assert later != first


def test_draws_are_spread_over_the_memory(chunks):
    queries = [query(chunks[0], consumer=f"c{n}") for n in range(300)]
    found = ask(random_source(chunks), *queries, k=1)
    assert len({g.chunk.chunk_id for (g,) in found}) > 100


def test_ones_own_task_is_searched_by_distance(chunks):
    source = OwnTaskSource(chunks, EMBEDDER)
    asked = query(chunks[5])
    found, none = ask(source, asked, query(chunks[5], task_id="unknown"), k=2)
    assert none == []
    assert [g.rank for g in found] == [1, 2]
    assert found[0].chunk == chunks[5]
    assert found[0].retrieval_score == pytest.approx(0)
    assert found[0].retrieval_score < found[1].retrieval_score
    assert {g.chunk.task_id for g in found} == {asked.task_id}


def test_subsets_are_nested_whole_trajectories(chunks):
    parts = [subset_of(chunks, fraction, 0, 0) for fraction in (0.1, 0.25, 0.5, 0.75, 1.0)]
    kept = [{c.trajectory_id for c in part} for part in parts]
    assert all(a < b for a, b in pairwise(kept))
    assert parts[-1] == chunks
    for names, part in zip(kept, parts, strict=True):
        assert part == [c for c in chunks if c.trajectory_id in names]
    assert {(c.producer, c.task_type) for c in parts[0]} == {
        (c.producer, c.task_type) for c in chunks
    }
    assert {c.trajectory_id for c in subset_of(chunks, 0.5, 0, 3)} != kept[2]


def test_failures_are_told_once_a_task_and_marked(tmp_path, make_trajectory):
    memory = ExperienceMemory(
        tmp_path, EMBEDDER, grammar="test-grammar", config=MemoryConfig(window=2)
    )
    memory.contribute([make_trajectory(3, task_id="won"), make_trajectory(3, success=False)], 0)
    memory.seal(0)
    memory.contribute(
        [make_trajectory(5, success=False), make_trajectory(5, success=False, producer="other")], 1
    )
    memory.seal(1)
    failed = list(failed_chunks(memory, memory.as_of(1)))
    assert not any(chunk.success for chunk in failed)
    assert [(c.producer, c.partition) for c in failed] == [("agent-a", 0)] * 3 + [("other", 1)] * 5
    assert len(list(failed_chunks(memory, memory.as_of(0)))) == 3


def test_a_part_is_searched_as_the_whole_is(tmp_path, chunks):
    part = subset_of(chunks, 0.5, 0, 0)
    source = index_of(part, EMBEDDER, "test-grammar", tmp_path / "index", RetrievalConfig())
    asked = query(part[0], task_id="elsewhere")
    (found,) = ask(source, asked, k=100)
    assert found[0].retrieval_score == pytest.approx(0)
    assert {g.chunk.chunk_id for g in found} <= {c.chunk_id for c in part}
