"""Importances, transfer to other task types, and the search over settings."""

import numpy as np
import pytest
from synthetic_labels import TYPES, material, ranking_data

from collegium.ranking.configs import (
    FFNConfig,
    LambdaMARTConfig,
    PersonalConfig,
    SVMRankConfig,
)
from collegium.ranking.folds import held_out_scores, question_folds
from collegium.ranking.importance import Measured, importances
from collegium.ranking.kinds import fit_ranker
from collegium.ranking.search import Trial, best_trial, draw_settings, try_settings
from collegium.ranking.training import split_by_question
from collegium.ranking.transfer import transfer_table

CONFIGS = (
    LambdaMARTConfig(trees=20),
    SVMRankConfig(),
    FFNConfig(layers=(8,), epochs=15),
    PersonalConfig(),
)
KINDS = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)


@pytest.fixture(scope="module")
def whole():
    return ranking_data().training_set("paper", null=False)[0]


@KINDS
def test_what_decides_matters_most(config, whole):
    split = split_by_question(whole, 0.2, 0)
    train, held = whole.subset(split.train), whole.subset(split.validation)
    measured = Measured("m", fit_ranker(config, train, 0), train, held)
    rows = importances(measured, 0)
    assert len({row.feature for row in rows}) == 44
    by_shap = sorted(rows, key=lambda row: row.shap, reverse=True)
    # The producer decides: its id and its measured scores tell the same.
    assert by_shap[0].category == "producer"
    assert max(row.permutation for row in rows) > 0
    gains = [row.gain for row in rows]
    if config.kind in ("lambdamart", "svmrank"):
        assert sum(gains) == pytest.approx(1.0)
    else:
        assert gains == [None] * 44
    assert importances(measured, 0) == rows


def test_no_group_is_scored_by_a_ranker_that_knew_its_fold(whole):
    folds = [group.task_type for group in whole.groups]
    scores = held_out_scores(SVMRankConfig(), whole, folds, 0)
    for kind in TYPES:
        rest = whole.subset([i for i, one in enumerate(folds) if one != kind])
        ranker = fit_ranker(SVMRankConfig(), rest, 0)
        for i, one in enumerate(folds):
            if one == kind:
                rows = whole.rows[i]
                assert np.array_equal(scores[rows], ranker.score(whole.features[rows]))


def test_questions_are_whole_in_their_folds(whole):
    folds = question_folds(whole, 4, 0)
    assert set(folds) == {0, 1, 2, 3}
    of = {}
    for group, fold in zip(whole.groups, folds, strict=True):
        assert of.setdefault(group.question, fold) == fold


def test_transfer_is_told_by_task_type(whole):
    rows = transfer_table("svmrank", SVMRankConfig(), whole, 4, 0)
    assert [row.task_type for row in rows] == sorted(TYPES)
    assert sum(row.groups for row in rows) == len(whole.groups)
    for row in rows:  # what helps is the same everywhere
        assert row.ndcg_other_types > row.ndcg_random
        assert row.top_other_types > row.top_random


def test_a_fold_beside_which_nothing_is_known_is_left_in_its_order():
    made = material(questions=2)
    whole = ranking_data(made).training_set("paper", null=False)[0]
    one_fold = held_out_scores(SVMRankConfig(), whole, [0] * len(whole.groups), 0)
    assert (one_fold == 0).all()


@KINDS
def test_drawn_settings_are_valid_and_begin_with_the_configured_ones(config, whole):
    settings = draw_settings(config, 6, 3)
    assert settings[0] == config
    assert len(settings) == 6
    assert settings == draw_settings(config, 6, 3)
    for one in settings:
        assert type(config).model_validate(one.model_dump()) == one
    assert try_settings(config, whole, 2, 0) > 0.8


def test_the_best_trial_is_the_first_of_the_highest():
    trials = [
        Trial(key=str(i), ranker="m", settings={}, ndcg=ndcg)
        for i, ndcg in enumerate([None, 0.5, 0.7, 0.7])
    ]
    assert best_trial(trials).key == "2"
    assert best_trial(trials[:1]).key == "0"
