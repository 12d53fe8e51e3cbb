"""The pipeline train_rerankers: cards, table, resuming, refusals."""

import asyncio
import io

import pytest
from rich.console import Console
from synthetic_labels import labelled_run, material
from synthetic_runs import START

from collegium.core import ConfigError, FixedClock, NotFoundError
from collegium.ranking.card import load_model
from collegium.ranking.configs import FFNConfig, LambdaMARTConfig, SVMRankConfig
from collegium.ranking.training import UselessRankerError
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.runtime.jobs.reranker_configs import (
    AnalysesConfig,
    RankerPlan,
    TrainRerankersConfig,
    estimate_rankers,
)
from collegium.runtime.jobs.showing import show_rankers
from collegium.runtime.jobs.train_rerankers import (
    IMPORTANCES,
    MODELS,
    RANKERS,
    TRANSFER,
    train_rerankers,
)
from collegium.store import RunDirectory

PLANS = (
    RankerPlan(ranker=LambdaMARTConfig(trees=10)),
    RankerPlan(ranker=FFNConfig(layers=(8,), epochs=10)),
    RankerPlan(ranker=SVMRankConfig(), target="paired", null_candidate=True),
)


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    return labelled_run(tmp_path_factory.mktemp("labels"))


BARE = AnalysesConfig(importances=False, transfer_folds=0)


def train(config, folder):
    run = RunDirectory(str(folder)).open(config)
    progress = ConsoleProgress(Console(file=io.StringIO()), FixedClock(START))
    return asyncio.run(train_rerankers(config, run, progress)), run


def test_each_ranker_has_a_card_that_loads(labels, tmp_path):
    config = TrainRerankersConfig(labels=labels.path, models=PLANS)
    trained, run = train(config, tmp_path / "r")
    assert [row.key for row in trained.rankers] == ["lambdamart", "ffn", "svmrank_null"]
    for row in trained.rankers:
        model = load_model(tmp_path / "r" / MODELS / row.key)
        assert model.card.metrics == row.metrics
        assert model.card.cross_validated == row.cross_validated
        assert model.card.null_candidate == row.key.endswith("_null")
        assert model.card.verdict is None
    assert run.manifest().rows == {RANKERS: 3, IMPORTANCES: 3 * 44, TRANSFER: 3 * 3}
    drawn = run.read_text("figures/importance-ffn.svg")
    assert drawn.startswith("<svg")
    assert "agent_type" in drawn
    console = Console(file=io.StringIO(), width=120)
    show_rankers(trained, console)
    assert "400 labels" in console.file.getvalue()


def test_what_is_trained_is_not_trained_again(labels, tmp_path):
    config = TrainRerankersConfig(labels=labels.path, models=PLANS[:1], analyses=BARE)
    first, _ = train(config, tmp_path / "r")
    card = tmp_path / "r" / MODELS / "lambdamart" / "card.json"
    written = card.stat().st_mtime_ns
    again, _ = train(config, tmp_path / "r")
    assert again == first
    assert card.stat().st_mtime_ns == written


def test_a_ranker_that_learned_nothing_is_told_and_has_no_folder(labels, tmp_path):
    useless = RankerPlan(ranker=LambdaMARTConfig(min_leaf=10_000), name="useless")
    config = TrainRerankersConfig(labels=labels.path, models=(useless, *PLANS[:1]), analyses=BARE)
    trained, _ = train(config, tmp_path / "r")
    assert "one score" in trained.rankers[0].refused
    assert trained.rankers[1].refused == ""
    assert not (tmp_path / "r" / MODELS / "useless").exists()
    with pytest.raises(UselessRankerError, match="one score"):
        train(
            TrainRerankersConfig(labels=labels.path, models=(useless,), analyses=BARE),
            tmp_path / "s",
        )


def test_labels_that_are_not_there_are_named(tmp_path):
    config = TrainRerankersConfig(labels=str(tmp_path / "nothing"))
    with pytest.raises(NotFoundError, match="nothing"):
        train(config, tmp_path / "r")


def test_two_rankers_of_one_name_are_refused():
    with pytest.raises(ValueError, match="overwrite"):
        TrainRerankersConfig(labels="x", models=(PLANS[0], PLANS[0]))


def test_labels_of_too_few_questions_are_refused(tmp_path):
    few = labelled_run(tmp_path / "few", material(questions=1))
    with pytest.raises(ValueError, match="label more questions"):
        train(TrainRerankersConfig(labels=few.path, models=PLANS[:1]), tmp_path / "r")
    assert issubclass(UselessRankerError, ValueError)
    assert issubclass(ConfigError, ValueError)


def test_the_estimate_counts_every_fit():
    plain = TrainRerankersConfig(labels="x", models=PLANS, analyses=BARE)
    assert estimate_rankers(plain).fits == 3 * 6
    searched = TrainRerankersConfig(
        labels="x", models=PLANS, search={"trials": 4, "folds": 2}, analyses={"transfer_folds": 5}
    )
    assert estimate_rankers(searched).fits == 3 * (6 + 8 + 11)


def test_importances_are_made_once_and_only_what_is_asked_for(labels, tmp_path):
    config = TrainRerankersConfig(
        labels=labels.path, models=PLANS[:1], analyses=AnalysesConfig(transfer_folds=0)
    )
    _, run = train(config, tmp_path / "r")
    first = list(run.rows(IMPORTANCES))
    train(config, tmp_path / "r")
    assert list(run.rows(IMPORTANCES)) == first
    assert not run.keys(TRANSFER)


def test_a_demo_keeps_what_learned_nothing_and_says_so(labels, tmp_path):
    useless = RankerPlan(ranker=LambdaMARTConfig(min_leaf=10_000), name="useless")
    config = TrainRerankersConfig(
        labels=labels.path, models=(useless,), analyses=BARE, keep_useless=True
    )
    trained, _ = train(config, tmp_path / "r")
    assert "one score" in load_model(tmp_path / "r" / MODELS / "useless").card.useless
    console = Console(file=io.StringIO(), width=200)
    show_rankers(trained, console)
    assert "of no use, but kept" in console.file.getvalue()
