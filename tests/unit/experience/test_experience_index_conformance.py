"""One suite over all index backends: exactness, order, filters, tags, durability."""

import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collegium.core import Chunk, ChunkStep, InvalidInputError, NotFoundError
from collegium.experience.index import (
    Census,
    ExactIndexConfig,
    IndexHeader,
    LanceIndexConfig,
    Scope,
    SearchFilter,
    VectorIndex,
    open_index,
)

HEADER = IndexHeader(embedder="grid", dimension=3, grammar="G")
BACKENDS = {"exact": ExactIndexConfig(), "lance": LanceIndexConfig()}

Opener = Callable[..., VectorIndex]


@pytest.fixture(params=list(BACKENDS))
def opener(request) -> Opener:
    if request.param == "lance":
        pytest.importorskip("lancedb")

    def open_backend(directory: Path, header: IndexHeader | None = HEADER) -> VectorIndex:
        return open_index(BACKENDS[request.param], directory, header)

    return open_backend


@pytest.fixture
def index(opener, tmp_path) -> VectorIndex:
    return opener(tmp_path / "index")


def make_chunk(
    number: int,
    *,
    partition: int = 0,
    task_type: str = "pick",
    task_id: str = "t",
    producer: str = "a",
    grammar: str = "G",
    chunk_id: str | None = None,
) -> Chunk:
    return Chunk(
        chunk_id=chunk_id or f"{number:032x}",
        trajectory_id=f"trajectory-{number}",
        producer=producer,
        environment="household",
        task_id=task_id,
        task_type=task_type,
        goal="it's a goal",
        state=f"observation: {number}",
        context="",
        progress=0,
        total_steps=1,
        steps=(ChunkStep(action=f"act {number}", observation='"seen" | é'),),
        partition=partition,
        grammar=grammar,
    )


def grid(rows: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(rows, np.float32).reshape(-1, 3)


def ids(hits) -> list[str]:
    return [hit.chunk.chunk_id for hit in hits]


def test_an_empty_index_answers_with_nothing(index):
    assert index.count() == 0
    assert index.census() == []
    assert list(index.chunks()) == []
    assert index.search(grid([(0, 0, 0)]), 5, [SearchFilter()]) == [[]]
    assert index.search(grid([]), 5, []) == []


def test_a_chunk_comes_back_as_it_was(index):
    chunk = make_chunk(1, task_id="it's/1", producer='"quoted"')
    assert index.add([chunk], grid([(1, 2, 3)])) == 1
    [[hit]] = index.search(grid([(1, 2, 5)]), 3, [SearchFilter()])
    assert hit.chunk == chunk
    assert hit.distance == 4.0


def test_ties_are_ordered_by_chunk_id(index):
    names = ["c", "a", "d", "b"]
    chunks = [make_chunk(i, chunk_id=name) for i, name in enumerate(names)]
    index.add(chunks, grid([(1, 0, 0)] * 4))
    [hits] = index.search(grid([(0, 0, 0)]), 2, [SearchFilter()])
    assert ids(hits) == ["a", "b"]


@st.composite
def corpora(draw):
    point = st.tuples(*[st.integers(-2, 2)] * 3)
    rows = draw(
        st.lists(
            st.tuples(point, st.integers(0, 2), st.sampled_from("xy"), st.sampled_from("mn")),
            min_size=1,
            max_size=25,
        )
    )
    filters = st.builds(
        SearchFilter,
        scope=st.sampled_from(Scope),
        task_type=st.sampled_from("xyz"),
        as_of=st.sampled_from([None, 0, 1, 2]),
        exclude_task_id=st.sampled_from([None, "m", "o"]),
    )
    queries = draw(st.lists(st.tuples(point, filters), min_size=1, max_size=4))
    return rows, queries, draw(st.integers(1, 30)), draw(st.integers(0, len(rows)))


def passes(wanted: SearchFilter, chunk: Chunk) -> bool:
    same = chunk.task_type == wanted.task_type
    scope = {Scope.FULL: True, Scope.SAME_TASK: same, Scope.CROSS_TASK: not same}[wanted.scope]
    return (
        scope
        and (wanted.as_of is None or chunk.partition <= wanted.as_of)
        and chunk.task_id != wanted.exclude_task_id
    )


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(corpus=corpora())
def test_a_search_equals_brute_force(opener, corpus):
    rows, queries, k, cut = corpus
    chunks = [
        make_chunk(i, partition=p, task_type=kind, task_id=task, chunk_id=f"{i * 7919 % 101:03d}")
        for i, (_, p, kind, task) in enumerate(rows)
    ]
    vectors = grid([row[0] for row in rows])
    with tempfile.TemporaryDirectory() as folder:
        index = opener(Path(folder))
        index.add(chunks[:cut], vectors[:cut])
        index.add(chunks[cut:], vectors[cut:])
        found = index.search(grid([q[0] for q in queries]), k, [q[1] for q in queries])
        assert [c.chunk_id for c in index.chunks()] == [c.chunk_id for c in chunks]
    for (point, wanted), hits in zip(queries, found, strict=True):
        distances = ((vectors - np.array(point, np.float32)) ** 2).sum(axis=1)
        expected = sorted(
            (float(d), c.chunk_id)
            for d, c in zip(distances, chunks, strict=True)
            if passes(wanted, c)
        )[:k]
        assert [(hit.distance, hit.chunk.chunk_id) for hit in hits] == expected


def test_a_filter_never_costs_results(index):
    chunks = [make_chunk(i, task_id="mine" if i < 50 else "other") for i in range(60)]
    index.add(chunks, grid([(i, 0, 0) for i in range(60)]))
    [hits] = index.search(grid([(0, 0, 0)]), 10, [SearchFilter(exclude_task_id="mine")])
    assert ids(hits) == [c.chunk_id for c in chunks[50:]]


def test_a_duplicate_is_dropped_within_a_call_and_between_calls(index):
    first = make_chunk(1)
    again = first.model_copy(update={"chunk_id": "f" * 32, "total_steps": 9, "partition": 1})
    other = make_chunk(1, producer="b")
    assert index.add([first, again], grid([(0, 0, 0), (1, 0, 0)])) == 1
    assert index.add([again, other], grid([(1, 0, 0), (0, 0, 0)])) == 1
    assert index.count() == 2
    assert index.add([first, again, other], grid([(0, 0, 0)] * 3)) == 0


def test_partitions_are_counted_and_hidden(index):
    for p in range(3):
        index.add(
            [make_chunk(10 * p + i, partition=p, task_type="xy"[i % 2]) for i in range(p + 1)],
            grid([(p, i, 0) for i in range(p + 1)]),
        )
    assert [index.count(as_of=p) for p in range(3)] == [1, 3, 6]
    assert index.count() == 6
    assert index.census() == [
        Census(0, "a", "x", 1),
        Census(1, "a", "x", 1),
        Census(1, "a", "y", 1),
        Census(2, "a", "x", 2),
        Census(2, "a", "y", 1),
    ]
    assert {c.partition for c in index.chunks(as_of=1)} == {0, 1}


def test_it_survives_closing_and_pickling(index, opener, tmp_path):
    index.add([make_chunk(i) for i in range(5)], grid([(i, 0, 0) for i in range(5)]))
    query = (grid([(3, 0, 0)]), 2, [SearchFilter()])
    expected = index.search(*query)
    assert opener(tmp_path / "index", None).search(*query) == expected
    assert pickle.loads(pickle.dumps(index)).search(*query) == expected


def test_a_second_open_goes_on_where_the_first_stopped(index, opener, tmp_path):
    index.add([make_chunk(1)], grid([(1, 0, 0)]))
    again = opener(tmp_path / "index")
    assert again.add([make_chunk(1), make_chunk(2)], grid([(1, 0, 0), (2, 0, 0)])) == 1
    assert again.count() == 2


def test_a_reader_sees_what_others_added_once_it_asks(index, opener, tmp_path):
    index.add([make_chunk(1)], grid([(1, 0, 0)]))
    reader = opener(tmp_path / "index", None)
    index.add([make_chunk(2)], grid([(2, 0, 0)]))
    assert reader.count() == 1
    reader.refresh()
    assert reader.count() == 2
    query = (grid([(2, 0, 0)]), 2, [SearchFilter()])
    assert reader.search(*query) == index.search(*query)
    assert reader.add([make_chunk(2)], grid([(2, 0, 0)])) == 0


def test_another_header_is_refused(index, opener, tmp_path):
    for change in ({"embedder": "other"}, {"dimension": 4}, {"grammar": "old"}):
        with pytest.raises(InvalidInputError, match="another directory"):
            opener(tmp_path / "index", HEADER.model_copy(update=change))


def test_opening_nothing_says_so(opener, tmp_path):
    with pytest.raises(NotFoundError, match="no index in"):
        opener(tmp_path / "absent", None)


def test_bad_input_is_refused_and_changes_nothing(index):
    good = make_chunk(1)
    bad = {
        "shape": ([good], grid([(0, 0, 0), (1, 1, 1)])),
        "finite": ([good], grid([(0, 0, float("nan"))])),
        "grammar": ([good, make_chunk(2, grammar="old")], grid([(0, 0, 0), (1, 1, 1)])),
    }
    for reason, (chunks, vectors) in bad.items():
        with pytest.raises(InvalidInputError, match=reason):
            index.add(chunks, vectors)
    with pytest.raises(InvalidInputError, match="k=0"):
        index.search(grid([(0, 0, 0)]), 0, [SearchFilter()])
    with pytest.raises(InvalidInputError, match="shape"):
        index.search(grid([(0, 0, 0)]), 1, [])
    assert index.count() == 0
