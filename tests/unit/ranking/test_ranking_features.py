"""The 44 features: their count, the text oracle, finiteness, one code path, schema checks."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from synthetic_labels import EMBEDDER, material, ranking_data

from collegium.core import Guidance, InvalidInputError
from collegium.embedding import HashEmbedder
from collegium.experience.labels import UtilityLabel
from collegium.ranking.features import Candidates, FeatureExtractor
from collegium.ranking.pairs import text_features
from collegium.ranking.schema import FEATURES, PARTS, Category
from collegium.ranking.texts import TextAnalyser, Vectoriser, fit_vectoriser

NO_TERMS = dict.fromkeys(PARTS, Vectoriser((), np.empty(0)))
words = st.text(alphabet="abé |:;,.1\n\t", max_size=40)


@pytest.fixture(scope="module")
def data():
    return ranking_data()


def candidates_of(labels: list[UtilityLabel]) -> Candidates:
    return Candidates(
        labels[0].as_query(),
        [
            Guidance(chunk=row.as_chunk(), rank=row.rank, retrieval_score=row.retrieval_score)
            for row in labels
        ],
    )


@pytest.fixture(scope="module")
def request_of_five(data):
    return candidates_of(data.labels[:5])


def column(schema, matrix, name):
    return matrix[:, schema.blocks[name]]


def test_there_are_44_features_in_six_categories():
    assert len(FEATURES) == len({feature.name for feature in FEATURES}) == 44
    assert Counter(feature.category for feature in FEATURES) == {
        Category.PRODUCER: 13,
        Category.CONSUMER: 1,
        Category.FIRST_STAGE: 1,
        Category.QUERY: 2,
        Category.TRAJECTORY: 4,
        Category.INTERACTION: 23,
    }


def test_ids_become_one_column_each(data, request_of_five):
    schema = data.schema
    matrix = data.extractor.matrix(*request_of_five)
    assert matrix.shape == (5, 42 + len(schema.producers) + len(schema.consumers))
    assert len(schema.columns) == matrix.shape[1]
    producers = [guidance.chunk.producer for guidance in request_of_five.guidance]
    for row, producer in zip(column(schema, matrix, "agent_type"), producers, strict=True):
        assert dict(zip(schema.producers, row, strict=True)) == {
            name: float(name == producer) for name in schema.producers
        }


def test_text_oracle():
    analyser = TextAnalyser(NO_TERMS)
    query = analyser.bags(["put a clean apple in fridge", "", "", ""])
    document = analyser.bags(["put a hot apple in microwave", "", "", ""])
    found = text_features(query, [document])[0]
    full = {"jaccard": found[0], "query": found[4], "tfidf": found[8], "bigram": found[12]}
    assert full == pytest.approx({"jaccard": 0.5, "query": 2 / 3, "tfidf": 0.0, "bigram": 0.25})
    assert found[[1, 2, 3, 5, 6, 7]] == pytest.approx(0.0)  # empty parts


@settings(max_examples=60, deadline=None)
@given(st.lists(words, min_size=2, max_size=6), words)
def test_terms_weigh_as_scikit_learn_weighs_them(documents, query):
    vectoriser = fit_vectoriser(documents)
    analyser = TextAnalyser({**NO_TERMS, "full": vectoriser})
    mine = [analyser.bags([text, "", "", ""]) for text in [query, *documents]]
    found = text_features(mine[0], mine[1:])[:, 8]
    try:
        theirs = TfidfVectorizer(strip_accents="unicode", max_df=0.95).fit(documents)
    except ValueError:  # no term is left
        assert found == pytest.approx(0.0)
        return
    expected = (theirs.transform(documents) @ theirs.transform([query]).T).toarray()[:, 0]
    assert found == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(state=words, context=words, progress=st.integers(0, 99), producer=words)
def test_features_are_always_finite(data, state, context, progress, producer):
    asked = candidates_of(data.labels[:5])
    query = asked.query.model_copy(
        update={"state": state, "context": context, "progress": progress, "consumer": producer}
    )
    first = asked.guidance[0]
    chunk = first.chunk.model_copy(
        update={"goal": "", "state": context, "context": state, "producer": producer, "steps": ()}
    )
    guidance = [first.model_copy(update={"chunk": chunk}), *asked.guidance[1:]]
    matrix = data.extractor.matrix(query, guidance, null=True)
    assert matrix.shape == (6, len(data.schema.columns))
    assert np.isfinite(matrix).all()


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(5)))
def test_order_of_candidates_orders_rows(data, order):
    query, guidance = candidates_of(data.labels[:5])
    matrix = data.extractor.matrix(query, guidance)
    shuffled = data.extractor.matrix(query, [guidance[i] for i in order])
    assert np.array_equal(shuffled, matrix[order])


def test_many_queries_at_once_are_as_one_by_one(data):
    asked = [candidates_of(data.labels[i : i + 5]) for i in range(0, 40, 5)]
    together = data.extractor.matrices(asked)
    for one, matrix in zip(asked, together, strict=True):
        assert np.array_equal(data.extractor.matrix(*one), matrix)


def test_values_of_one_candidate(data, request_of_five):
    query, guidance = request_of_five
    matrix = data.extractor.matrix(query, guidance)
    chunk = guidance[0].chunk
    row = {name: matrix[0, place] for name, place in data.schema.blocks.items()}
    asked = EMBEDDER.embed([query.goal, chunk.goal]).astype(float)
    assert row["goal_only_similarity"] == pytest.approx(np.linalg.norm(asked[0] - asked[1]))
    assert row["retriever_score"] == guidance[0].retrieval_score
    assert row["embedding_similarity"] == pytest.approx(guidance[0].retrieval_score ** 0.5)
    assert row["query_length"] == len(query.key_text.split())
    assert row["step_index"] == query.progress
    assert row["trajectory_length"] == len(chunk.steps)
    assert row["total_steps"] == chunk.total_steps
    assert row["success_flag"] == 1.0
    assert row["progress_alignment_abs_diff"] == abs(query.progress - chunk.progress)
    assert row["task_match"] == (query.task_type == chunk.task_type)
    assert row["task_variation_match"] == 0.0
    assert row["source_aai"] == {"novice": 20.0, "master": 90.0}[chunk.producer]
    assert row["source_hle"] == 0.0  # nobody's was measured


def test_missing_context_counts_as_zero(data, request_of_five):
    query, guidance = request_of_five
    matrix = data.extractor.matrix(query.model_copy(update={"context": ""}), guidance)
    for name in data.schema.names:
        if name.startswith("context_only"):
            assert (column(data.schema, matrix, name) == 0).all()


def test_showing_nothing_has_features_of_query_and_consumer_only(data, request_of_five):
    matrix = data.extractor.matrix(*request_of_five, null=True)
    kept = np.zeros(matrix.shape[1], bool)
    for feature in FEATURES:
        if feature.category in (Category.QUERY, Category.CONSUMER):
            kept[data.schema.blocks[feature.name]] = True
    assert np.array_equal(matrix[-1, kept], matrix[0, kept])
    assert (matrix[-1, ~kept] == 0).all()


def test_a_stranger_is_all_zeros_and_has_mean_scores(data, request_of_five):
    query, guidance = request_of_five
    chunk = guidance[0].chunk.model_copy(update={"producer": "stranger"})
    matrix = data.extractor.matrix(query, [guidance[0].model_copy(update={"chunk": chunk})])
    assert (column(data.schema, matrix, "agent_type") == 0).all()
    assert column(data.schema, matrix, "source_aai").item() == pytest.approx(55.0)


def test_the_schema_hash_covers_ids_embedder_and_resources(data):
    other = ranking_data(material(seed=1))
    assert ranking_data().schema.hash == data.schema.hash == other.schema.hash
    for change in ({"producers": ("x",)}, {"embedder": "x"}, {"resources": "x"}):
        assert data.schema.model_copy(update=change).hash != data.schema.hash


def test_another_embedder_or_grammar_is_refused(data, request_of_five):
    with pytest.raises(InvalidInputError, match="hash-8"):
        FeatureExtractor(data.schema, data.resources, HashEmbedder(8))
    with pytest.raises(InvalidInputError, match="grammar"):
        data.extractor.check(request_of_five.query.model_copy(update={"grammar": "old"}))
    changed = data.schema.model_copy(update={"resources": "other"})
    with pytest.raises(InvalidInputError, match="other resources"):
        FeatureExtractor(changed, data.resources, EMBEDDER)
