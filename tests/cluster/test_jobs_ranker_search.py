"""The search for a ranker's settings runs on Ray, and goes on where a killed one stopped."""

import pytest
from killable_runs import ROOT, finished, started, wait_for
from synthetic_labels import labelled_run

from collegium.ranking.card import read_card
from collegium.store import RunDirectory

pytestmark = pytest.mark.cluster

TRIALS = 12


def options(labels):
    return (
        *("-s", f"labels={labels}"),
        *("-s", f"search={{trials: {TRIALS}, folds: 2}}"),
        *("-s", "models=[{ranker: {kind: svmrank}}]"),
        *("-s", "analyses={importances: false, transfer_folds: 0}"),
    )


def trials(run):
    return list(RunDirectory(str(run)).rows("trials"))


def test_a_killed_search_goes_on_and_tries_nothing_twice(tmp_path):
    labels = labelled_run(tmp_path / "labels").path
    config = ROOT / "configs" / "ci" / "train_rerankers.yaml"
    run = tmp_path / "run"
    with started("train_rerankers", config, *options(labels), run=run) as process:
        wait_for(lambda: len(trials(run)) >= 2, process)
        process.kill()
        process.wait(30)
    before = trials(run)
    with started("train_rerankers", run, run=run) as process:
        finished(process, run)
    after = trials(run)
    keys = [row["key"] for row in after]
    assert set(keys) == {f"svmrank/{i}" for i in range(TRIALS)}
    assert len(keys) == TRIALS
    assert after[: len(before)] == before
    best = max(after, key=lambda row: (row["ndcg"], -int(row["key"].partition("/")[2])))
    card = read_card(run / "models" / "svmrank")
    assert card.hyperparameters["c"] == best["settings"]["c"]
