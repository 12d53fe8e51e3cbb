"""What only the exact index promises: float64 decisions, killed adds, damaged files, plug-ins."""

from importlib import metadata

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from collegium.core import CorruptDataError, NotFoundError
from collegium.experience.chunks import chunk_trajectory
from collegium.experience.index import (
    ExactIndex,
    IndexConfig,
    IndexHeader,
    PluginIndexConfig,
    SearchFilter,
    exact,
    open_index,
)

HEADER = IndexHeader(embedder="e", dimension=64, grammar="test-grammar")


@pytest.fixture
def chunks(make_trajectory):
    return [c for t in range(80) for c in chunk_trajectory(make_trajectory(5, task_id=f"t{t}"))]


def crowded(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Unit vectors so close together that float32 products confuse their order."""
    vectors = 1.0 + 1e-4 * rng.standard_normal((rows, HEADER.dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_order_is_decided_in_float64_whatever_the_batch_or_segments(tmp_path, chunks):
    vectors = crowded(np.random.default_rng(7), len(chunks))
    queries = crowded(np.random.default_rng(8), 9)
    whole, parts = ExactIndex(tmp_path / "a", HEADER), ExactIndex(tmp_path / "b", HEADER)
    whole.add(chunks, vectors)
    for start in range(0, len(chunks), 37):
        parts.add(chunks[start : start + 37], vectors[start : start + 37])
    expected = []
    for query in queries:
        difference = vectors.astype(np.float64) - query.astype(np.float64)
        distances = (difference**2).sum(axis=1)
        order = sorted(zip(distances, (c.chunk_id for c in chunks), strict=True))[:20]
        expected.append([name for _, name in order])
    filters = [SearchFilter()] * len(queries)
    for index in (whole, parts):
        batch = index.search(queries, 20, filters)
        assert [[h.chunk.chunk_id for h in hits] for hits in batch] == expected
        assert [index.search(q[None], 20, filters[:1])[0] for q in queries] == batch


def test_a_killed_add_leaves_nothing_behind(tmp_path, chunks, monkeypatch):
    index = ExactIndex(tmp_path, HEADER)
    vectors = crowded(np.random.default_rng(1), len(chunks))
    index.add(chunks[:10], vectors[:10])

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(exact, "write_text", killed)
        with pytest.raises(KeyboardInterrupt):
            index.add(chunks[10:], vectors[10:])
    again = ExactIndex(tmp_path)
    assert again.count() == 10
    assert again.add(chunks, vectors) == len(chunks) - 10


@pytest.mark.parametrize("suffix", [".npy", ".arrow"])
def test_a_damaged_segment_is_named(tmp_path, chunks, suffix):
    ExactIndex(tmp_path, HEADER).add(chunks, crowded(np.random.default_rng(1), len(chunks)))
    [file] = (tmp_path / "segments").glob(f"*{suffix}")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(CorruptDataError, match=file.stem):
        ExactIndex(tmp_path)


def test_damaged_small_files_are_named(tmp_path):
    ExactIndex(tmp_path, HEADER)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(CorruptDataError, match=r"manifest\.json"):
        ExactIndex(tmp_path)
    (tmp_path / "header.json").write_text("{}")
    with pytest.raises(CorruptDataError, match=r"header\.json"):
        ExactIndex(tmp_path)


def test_an_unknown_kind_lists_the_known_ones():
    with pytest.raises(ValidationError, match="'exact', 'lance', 'plugin'"):
        TypeAdapter(IndexConfig).validate_python({"kind": "faiss"})


def test_a_plugin_is_found_by_its_entry_point(tmp_path, monkeypatch):
    with pytest.raises(NotFoundError, match=r"no plug-in 'mine'.*collegium\.indexes"):
        open_index(PluginIndexConfig(name="mine"), tmp_path, HEADER)
    point = metadata.EntryPoint("mine", f"{__name__}:build", "collegium.indexes")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point])
    index = open_index(PluginIndexConfig(name="mine", options={"x": 1}), tmp_path, HEADER)
    assert index.header == HEADER


def build(directory, header, options):
    assert options == {"x": 1}
    return ExactIndex(directory, header)


def test_many_small_adds_make_few_segments_and_the_same_rows(tmp_path, chunks):
    vectors = crowded(np.random.default_rng(3), len(chunks))
    index = ExactIndex(tmp_path, HEADER)
    for row, chunk in enumerate(chunks):
        index.add([chunk], vectors[row][None])
    assert len(list((tmp_path / "segments").glob("*.npy"))) <= 8
    assert [c.chunk_id for c in index.chunks()] == [c.chunk_id for c in chunks]
    hits = index.search(vectors[:5], 1, [SearchFilter()] * 5)
    assert [found[0].distance for found in hits] == [0.0] * 5


def test_a_reader_too_late_for_a_segment_reads_the_manifest_again(tmp_path, chunks, monkeypatch):
    vectors = crowded(np.random.default_rng(4), len(chunks))
    writer = ExactIndex(tmp_path, HEADER)
    writer.add(chunks[:4], vectors[:4])
    read = exact._segment_names

    def slowly(manifest):
        names = read(manifest)
        monkeypatch.setattr(exact, "_segment_names", read)
        writer.add(chunks[4:8], vectors[4:8])
        return names

    monkeypatch.setattr(exact, "_segment_names", slowly)
    assert ExactIndex(tmp_path).count() == 8
