"""What only the LanceDB index promises: tags, and an approximate index above a size."""

import numpy as np
import pytest

from collegium.experience.chunks import chunk_trajectory
from collegium.experience.index import ExactIndex, IndexHeader, LanceIndex, SearchFilter

lancedb = pytest.importorskip("lancedb")

HEADER = IndexHeader(embedder="e", dimension=8, grammar="test-grammar")


@pytest.fixture
def batches(make_trajectory):
    rng = np.random.default_rng(5)
    chunks = [
        [
            chunk
            for t in range(60)
            for chunk in chunk_trajectory(make_trajectory(5, task_id=f"p{p}t{t}"), partition=p)
        ]
        for p in range(3)
    ]
    return [(c, rng.standard_normal((len(c), 8)).astype(np.float32)) for c in chunks]


def test_each_partition_is_a_tag_of_what_was_there(tmp_path, batches):
    index = LanceIndex(tmp_path, HEADER)
    for chunks, vectors in batches:
        index.add(chunks[:100], vectors[:100])
        index.add(chunks[100:], vectors[100:])
    table = lancedb.connect(tmp_path).open_table("chunks")
    assert sorted(table.tags.list()) == ["D_0", "D_1", "D_2"]
    for partition in range(3):
        table.checkout(f"D_{partition}")
        assert table.count_rows() == 300 * (partition + 1)


def test_a_tag_lost_to_a_kill_comes_back_when_the_add_is_repeated(tmp_path, batches):
    chunks, vectors = batches[0]
    LanceIndex(tmp_path, HEADER).add(chunks, vectors)
    lancedb.connect(tmp_path).open_table("chunks").tags.delete("D_0")
    assert LanceIndex(tmp_path, HEADER).add(chunks, vectors) == 0
    table = lancedb.connect(tmp_path).open_table("chunks")
    table.checkout("D_0")
    assert table.count_rows() == len(chunks)


def test_above_its_size_it_is_indexed_and_stays_close_to_exact(tmp_path, batches):
    exact, lance = (
        ExactIndex(tmp_path / "e", HEADER),
        LanceIndex(tmp_path / "l", HEADER, index_above=500),
    )
    for chunks, vectors in batches:
        exact.add(chunks, vectors)
        lance.add(chunks, vectors)
    table = lancedb.connect(tmp_path / "l").open_table("chunks")
    assert [i.columns for i in table.list_indices()] == [["vector"]]
    queries = np.random.default_rng(6).standard_normal((20, 8)).astype(np.float32)
    filters = [SearchFilter(exclude_task_id="p0t0", as_of=1)] * 20
    pairs = zip(exact.search(queries, 10, filters), lance.search(queries, 10, filters), strict=True)
    recall = [
        len({h.chunk.chunk_id for h in a} & {h.chunk.chunk_id for h in b}) / 10 for a, b in pairs
    ]
    assert np.mean(recall) > 0.9


def test_a_crowd_of_ties_is_fetched_to_its_end(tmp_path, batches):
    index = LanceIndex(tmp_path, HEADER)
    chunks, _ = batches[0]
    index.add(chunks, np.ones((len(chunks), 8), np.float32))
    [hits] = index.search(np.zeros((1, 8), np.float32), 7, [SearchFilter()])
    assert [h.chunk.chunk_id for h in hits] == sorted(c.chunk_id for c in chunks)[:7]
