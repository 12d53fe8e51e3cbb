"""The conformance suite on backends without a model, and how a backend is chosen."""

from importlib import metadata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from collegium.core import InvalidInputError, MissingDependencyError, NotFoundError
from collegium.embedding import (
    CachedEmbedder,
    Embedder,
    EmbedderConfig,
    HashConfig,
    HashEmbedder,
    MiniLMConfig,
    PluginEmbedderConfig,
    build_embedder,
    minilm,
)

TEXTS = ["take apple 1", "", "take apple 1", "é ü 苹果 🍎", "put a hot mug in cabinet " * 300]


@pytest.fixture(params=["hash", "cached"])
def embedder(request, tmp_path) -> Embedder:
    inner = build_embedder(HashConfig(dimension=64))
    return inner if request.param == "hash" else CachedEmbedder(inner, tmp_path)


def test_the_shape_is_texts_by_dimension(embedder):
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_equal_texts_have_equal_vectors_in_any_batch(embedder):
    vectors = embedder.embed(TEXTS)
    assert np.array_equal(vectors[0], vectors[2])
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert np.array_equal(embedder.embed([text])[0], vector)


def test_shared_words_bring_texts_closer(embedder):
    near, far, base = embedder.embed(
        [
            "take the red apple from the fridge",
            "open a drawer",
            "take a green apple from the fridge",
        ]
    )
    assert np.linalg.norm(near - base) < np.linalg.norm(far - base)


def test_hash_vectors_are_the_same_on_every_machine():
    assert np.flatnonzero(HashEmbedder(16).embed(["take apple"])[0]).tolist() == [3, 12, 15]


@given(st.lists(st.text(max_size=30), max_size=5))
def test_hash_vectors_are_unit_or_zero(texts):
    norms = np.linalg.norm(HashEmbedder(32).embed(texts), axis=1)
    assert all(abs(n - 1) < 1e-5 or n == 0 for n in norms)


def test_a_hash_needs_a_dimension():
    with pytest.raises(InvalidInputError):
        HashEmbedder(0)


def test_an_unknown_kind_lists_the_known_ones():
    with pytest.raises(ValidationError, match="'minilm', 'e5', 'hash', 'plugin'"):
        TypeAdapter(EmbedderConfig).validate_python({"kind": "word2vec"})


def test_an_unknown_plugin_lists_the_known_ones(monkeypatch):
    point = metadata.EntryPoint("mine", f"{__name__}:plugin", "collegium.embedders")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point])
    with pytest.raises(NotFoundError, match="known: mine"):
        build_embedder(PluginEmbedderConfig(name="yours"))
    built = build_embedder(PluginEmbedderConfig(name="mine", options={"dimension": 8}))
    assert built.dimension == 8


def plugin(options):
    return HashEmbedder(**options)


def test_missing_weights_name_the_extra(monkeypatch):
    monkeypatch.setattr(minilm, "_PACKAGE", "no_such_package_here")
    with pytest.raises(MissingDependencyError, match=r"collegium\[embedding\]"):
        build_embedder(MiniLMConfig())
