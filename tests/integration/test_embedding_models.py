"""The conformance suite on the packaged MiniLM, and on a model given by its folder."""

import numpy as np
import pytest

from collegium.core import NotFoundError
from collegium.embedding import CachedEmbedder, E5Config, MiniLMConfig, build_embedder
from collegium.embedding.minilm import minilm_folder

pytestmark = pytest.mark.integration

TEXTS = ["take apple 1", "", "take apple 1", "é ü 苹果 🍎", "put a hot mug in cabinet " * 300]


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("sentence_transformers")
    return build_embedder(MiniLMConfig(device="cpu"))


def test_the_shape_is_texts_by_dimension(minilm):
    vectors = minilm.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert minilm.embed([]).shape == (0, 384)


def test_equal_texts_are_equal_in_any_batch_up_to_rounding(minilm):
    vectors = minilm.embed(TEXTS)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert np.allclose(minilm.embed([text])[0], vector, atol=1e-5)


def test_meaning_and_not_only_words(minilm):
    near, far, base = minilm.embed(
        ["heat a potato in the microwave", "turn on the desk lamp", "warm up some food"]
    )
    assert np.linalg.norm(near - base) < np.linalg.norm(far - base)


def test_the_token_limit_cuts_and_names_the_vectors(minilm):
    short = build_embedder(MiniLMConfig(device="cpu", max_tokens=8))
    assert short.name != minilm.name
    head = "goal: put a mug in a cabinet"
    assert np.allclose(*short.embed([head + " and more", head + " or else"]), atol=1e-5)
    assert not np.allclose(*minilm.embed([head + " and more", head + " or else"]), atol=1e-3)


def test_the_cache_returns_the_very_same_vectors(minilm, tmp_path):
    first = CachedEmbedder(minilm, tmp_path).embed(TEXTS)
    again = CachedEmbedder(minilm, tmp_path).embed(TEXTS[::-1])[::-1]
    assert np.array_equal(first, again)


def test_any_model_folder_works_and_a_wrong_one_is_named(tmp_path):
    pytest.importorskip("sentence_transformers")
    model = build_embedder(E5Config(model=str(minilm_folder()), device="cpu"))
    assert model.dimension == 384
    assert model.name.endswith(":256")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFoundError, match="empty"):
        build_embedder(E5Config(model=str(tmp_path / "empty"), device="cpu"))
