"""The rankers: one suite over all kinds, their files, and what training refuses."""

import json

import numpy as np
import pytest
from synthetic_labels import AGENTS, RANKS, label, material, ranking_data, trajectory

from collegium.core import (
    CorruptDataError,
    InvalidInputError,
    MissingDependencyError,
    NotFoundError,
)
from collegium.experience import chunk_trajectory
from collegium.ranking.card import (
    GateVerdict,
    load_model,
    read_card,
    save_model,
    write_verdict,
)
from collegium.ranking.configs import FFNConfig, LambdaMARTConfig, SVMRankConfig
from collegium.ranking.folds import question_folds
from collegium.ranking.grades import GradeScale
from collegium.ranking.groups import collect_groups
from collegium.ranking.kinds import fit_ranker
from collegium.ranking.metrics import measure, ndcg
from collegium.ranking.training import UselessRankerError, split_by_question, train_ranker

CONFIGS = (
    LambdaMARTConfig(trees=30),
    SVMRankConfig(),
    FFNConfig(layers=(16,), epochs=20),
)
KINDS = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
VERDICT = GateVerdict(
    status="pass",
    delta_success=0.02,
    low=-0.01,
    high=0.05,
    delta_steps=-0.3,
    pairs=268,
    baseline="retrieval",
    run="d",
)


@pytest.fixture(scope="module")
def data():
    return ranking_data()


@pytest.fixture(scope="module")
def whole(data):
    return data.training_set("paper", null=False)[0]


@pytest.fixture(scope="module")
def split(whole):
    places = split_by_question(whole, 0.2, 0)
    return whole.subset(places.train), whole.subset(places.validation)


def trained_on(config, whole):
    return train_ranker(config, whole, split_by_question(whole, 0.2, 0), 0, folds=2)


def saved(folder, config, data, whole):
    trained = trained_on(config, whole)
    about = {
        "features": data.schema,
        "hyperparameters": {},
        "seed": 0,
        "target": "paper",
        "grades": whole.scale.mapping,
        "null_candidate": False,
        "labels": data.digest,
        "run": "r",
        "groups": 1,
        "metrics": trained.metrics,
        "cross_validated": trained.cross_validated,
    }
    return trained, save_model(folder, trained.ranker, data.resources, about)


@KINDS
def test_a_ranker_finds_what_helps(config, whole):
    trained = trained_on(config, whole)
    for metrics in (trained.metrics, trained.cross_validated):
        assert metrics.ranker.ndcg > metrics.random.ndcg + 0.05
        assert metrics.ranker.top_label > metrics.random.top_label + 0.2
    assert (trained.metrics.groups, trained.cross_validated.groups) == (16, 80)
    crossed, gain = trained.cross_validated, trained.advantage.over_random
    assert 0 < gain.low < gain.value < gain.high
    assert gain.value == pytest.approx(
        crossed.ranker.ndcg_differing - crossed.random.ndcg_differing
    )


@KINDS
def test_equal_seeds_give_equal_scores(config, split):
    scores = [fit_ranker(config, split[0], 7).score(split[1].features) for _ in range(2)]
    assert np.array_equal(*scores)


@KINDS
def test_a_score_does_not_depend_on_the_other_rows(config, split):
    ranker = fit_ranker(config, split[0], 0)
    features = split[1].features[:20]
    scores = ranker.score(features)
    assert scores.shape == (20,)
    order = np.random.default_rng(0).permutation(20)
    assert np.array_equal(ranker.score(features[order]), scores[order])
    assert [ranker.score(row[None])[0] for row in features] == scores.tolist()


@KINDS
def test_what_is_loaded_scores_as_what_was_saved(config, data, whole, tmp_path):
    trained, card = saved(tmp_path / config.kind, config, data, whole)
    model = load_model(tmp_path / config.kind)
    assert model.card == card
    assert model.card.name == model.ranker.kind == config.kind
    features = whole.features
    assert np.array_equal(model.ranker.score(features), trained.ranker.score(features))
    assert model.resources.digest == data.resources.digest
    assert not [f for f in (tmp_path / config.kind).iterdir() if f.suffix in {".pkl", ".pt"}]


@KINDS
def test_altered_and_missing_files_are_named(config, data, whole, tmp_path):
    folder = tmp_path / "m"
    saved(folder, config, data, whole)
    for name in read_card(folder).files:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content + b" ")
        with pytest.raises(CorruptDataError, match=name):
            load_model(folder)
        (folder / name).unlink()
        with pytest.raises(NotFoundError, match=name):
            load_model(folder)
        (folder / name).write_bytes(content)
    load_model(folder)


def test_a_card_of_another_schema_is_refused(data, whole, tmp_path):
    saved(tmp_path, CONFIGS[1], data, whole)
    card = json.loads((tmp_path / "card.json").read_text())
    card["features"]["producers"] = ["someone"]
    (tmp_path / "card.json").write_text(json.dumps(card))
    with pytest.raises(CorruptDataError, match="schema"):
        load_model(tmp_path)
    (tmp_path / "card.json").write_text("{}")
    with pytest.raises(CorruptDataError, match="no card"):
        load_model(tmp_path)
    with pytest.raises(NotFoundError, match="train_rerankers"):
        load_model(tmp_path / "nothing")


def test_the_verdict_is_in_the_card_and_changes_no_identity(data, whole, tmp_path):
    _, card = saved(tmp_path, CONFIGS[1], data, whole)
    assert not card.may_serve
    judged = write_verdict(tmp_path, VERDICT)
    assert judged.may_serve
    assert judged.model_id == card.model_id
    assert load_model(tmp_path).card.verdict == VERDICT
    assert not write_verdict(
        tmp_path, VERDICT.model_copy(update={"status": "insufficient"})
    ).may_serve


def test_features_of_another_schema_are_refused_per_request(data, whole, tmp_path):
    saved(tmp_path, CONFIGS[1], data, whole)
    model = load_model(tmp_path)
    model.check_schema(data.schema.hash)
    with pytest.raises(InvalidInputError, match="not other"):
        model.check_schema("other")


@pytest.mark.parametrize(
    ("successes", "base", "released"),
    [
        ((0, 0, 1, 1, 0), 0, (3, 3, 9, 9, 3)),
        ((0, 0, 1, 0, 0), 0, (4, 4, 10, 4, 4)),
        ((1, 1, 1, 0, 1), 1, (6, 6, 6, 0, 6)),
    ],
)
def test_grades_order_candidates_as_the_released_labels_do(successes, base, released):
    labels = np.array(successes, float) - base
    grades = GradeScale.for_repeats(1).grades(labels)
    assert grades.tolist() == [s - base + 1 for s in successes]
    ours = np.sign(grades[:, None] - grades[None, :])
    theirs = np.sign(np.subtract.outer(released, released))
    assert np.array_equal(ours, theirs)


def test_gains_of_grades():
    assert GradeScale.for_repeats(1).gains == [0, 1, 3]
    assert GradeScale.for_repeats(1).mapping == {"-1": 0, "+0": 1, "+1": 3}
    scale = GradeScale.for_repeats(3)
    assert scale.grades(np.array([-1, -1 / 3, 0, 2 / 3, 1])).tolist() == [0, 2, 3, 5, 6]
    assert scale.gains[::3] == [0, 1, 3]


@pytest.mark.parametrize("value", [1.5, -1.01, np.nan])
def test_labels_that_are_no_differences_of_scores_are_refused(value):
    with pytest.raises(InvalidInputError, match="cannot be mapped"):
        GradeScale.for_repeats(1).grades(np.array([0.0, value]))


def test_ndcg_of_one_group():
    gains = np.array([0.0, 3.0, 1.0])
    assert ndcg(gains, [1, 2, 0]) == pytest.approx(1.0)
    assert ndcg(gains, [0, 1, 2]) == pytest.approx((3 / np.log2(3) + 1 / 2) / (3 + 1 / np.log2(3)))
    assert ndcg(np.zeros(3), [2, 1, 0]) == 1.0


def test_random_order_is_the_mean_over_all_orders(whole):
    scores = np.zeros(len(whole.labels))
    exact = measure(whole, scores).random.ndcg
    rng = np.random.default_rng(0)
    drawn = [measure(whole, rng.random(len(scores))).ranker.ndcg for _ in range(300)]
    assert np.mean(drawn) == pytest.approx(exact, abs=0.01)


def test_equal_scores_keep_the_first_stages_order(whole):
    metrics = measure(whole, np.ones(len(whole.labels)))
    assert metrics.ranker == metrics.similarity
    assert metrics.best.ndcg == 1.0


def test_no_question_is_on_both_sides(whole):
    places = split_by_question(whole, 0.2, 0)
    train, held = (
        {whole.groups[i].question for i in side} for side in (places.train, places.validation)
    )
    assert not train & held
    assert len(held) == 8
    assert sorted(places.train + places.validation) == list(range(len(whole.groups)))


def chunks():
    return [
        c for producer in ("novice", "master") for c in chunk_trajectory(trajectory(0, producer))
    ]


def rows(futures, *, base=0.0, question=0, **change):
    made = [
        label(question, 1, rank, chunk, base, future)
        for rank, chunk, future in zip(RANKS, chunks(), futures, strict=False)
    ]
    return [row.model_copy(update=change) for row in made]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "no labels"),
        (rows([1.0]), "two candidates"),
        (rows([1.0, 1.0, 1.0]), "same label"),
    ],
)
def test_labels_that_teach_no_order_are_refused(labels, message):
    with pytest.raises(InvalidInputError, match=message):
        collect_groups(labels, "paper", null=False)


def test_groups_without_order_are_counted():
    labels = [*rows([0.0, 1.0]), *rows([1.0, 1.0], question=1), *rows([1.0], question=2)]
    groups, counts = collect_groups(labels, "paper", null=False)
    assert [len(group.labels) for group in groups] == [2, 2]
    assert (counts.left_out, counts.all_equal, counts.helped) == (1, 1, 3)


def test_with_the_null_candidate_one_candidate_is_enough():
    groups, counts = collect_groups(rows([1.0]), "paired", null=True)
    assert (len(groups), counts.left_out, counts.all_equal) == (1, 0, 0)
    data = ranking_data(material()).training_set("paired", null=True)[0]
    assert data.sizes.tolist() == [6] * len(data.groups)
    assert (data.labels[5::6] == 0).all()


def test_paired_labels_need_controls():
    lost = rows([0.0, 1.0], utility=None)
    with pytest.raises(InvalidInputError, match="control"):
        collect_groups(lost, "paired", null=False)
    groups, counts = collect_groups([*lost, *rows([0.0, 1.0], question=1)], "paired", null=False)
    assert (len(groups), counts.labels, counts.without_control) == (1, 4, 2)
    assert len(collect_groups(lost, "paper", null=False)[0]) == 1


def test_the_extra_is_named_where_it_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr("collegium.ranking.extras.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"collegium\[ranking\]"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"retrieval_score": float("nan")}, "retriever_score.*nan"),
        ({"label": 2.0}, "cannot be mapped"),
    ],
)
def test_rows_that_cannot_be_learned_from_are_named(change, message):
    made = material()
    labels = [made.labels[0].model_copy(update=change), *made.labels[1:]]
    with pytest.raises(InvalidInputError, match=message):
        ranking_data(made._replace(labels=labels)).training_set("paper", null=False)


def test_a_producer_that_is_not_in_the_memory_is_named():
    made = material()
    chunk = made.labels[0].as_chunk().model_copy(update={"producer": "stranger"})
    labels = [
        made.labels[0].model_copy(update={"chunk": chunk.model_dump_json()}),
        *made.labels[1:],
    ]
    with pytest.raises(InvalidInputError, match=r"producers.*stranger"):
        ranking_data(made._replace(labels=labels)).training_set("paper", null=False)


def test_a_ranker_that_learned_nothing_is_refused(whole):
    with pytest.raises(UselessRankerError, match="one score"):
        trained_on(LambdaMARTConfig(min_leaf=10_000), whole)


def test_a_ranker_that_orders_worse_than_chance_is_refused(whole):
    turned = whole.subset(range(len(whole.groups)))
    for rows, fold in zip(turned.rows, question_folds(turned, 2, 0), strict=True):
        turned.labels[rows] *= 1 if fold else -1
    with pytest.raises(UselessRankerError, match="random order"):
        trained_on(SVMRankConfig(), turned)
    places = split_by_question(turned, 0.2, 0)
    kept = train_ranker(SVMRankConfig(), turned, places, 0, folds=2, keep_useless=True)
    assert "random order" in kept.useless


def test_many_repeats_are_trusted_more():
    made = material(questions=12, repeats=4)
    labels = [row.model_copy(update={"repeats": 1 + 3 * (row.rank > 5)}) for row in made.labels]
    data = ranking_data(made._replace(labels=labels)).training_set("paper", null=True)[0]
    per_group = data.weights.reshape(-1, 6)
    assert data.weights.mean() == pytest.approx(1.0)
    assert per_group[:, :2].max() < per_group[:, 2:5].min()
    assert (per_group[:, 5] == 1).all()
    assert data.scale.levels == 4
    for config in CONFIGS:
        fit_ranker(config, data, 0)


def test_agents_of_the_fixture_are_all_consumers(data):
    assert set(data.schema.consumers) == {agent.id for agent in AGENTS}
