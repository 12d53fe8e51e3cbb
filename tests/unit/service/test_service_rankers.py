"""Rankers in service: none without the gate's word, each answer says who ordered and by what."""

import pytest
from service_fixtures import local_service
from synthetic_labels import ranking_data
from test_service_retrieval import BASE, asked, contribute, indexed, retrieve, settings

from collegium.core import ConfigError, InvalidInputError
from collegium.embedding import HashConfig
from collegium.ranking.card import GateVerdict, save_model, write_verdict
from collegium.ranking.configs import LambdaMARTConfig
from collegium.ranking.training import split_by_question, train_ranker
from collegium.service.retrieval import ExplorationConfig

PASSED = GateVerdict(
    status="pass",
    delta_success=0.02,
    low=-0.01,
    high=0.05,
    delta_steps=-0.3,
    pairs=268,
    baseline="retrieval",
    run="d",
)
PRODUCERS = ("novice", "master")


def trained(folder, *, null=False):
    """Save a ranker that likes the master's chunks better than the novice's."""
    data = ranking_data()
    whole, _ = data.training_set("paper", null=null)
    split = split_by_question(whole, 0.2, 0)
    ranker = train_ranker(LambdaMARTConfig(trees=30), whole, split, 0, folds=2)
    about = {
        "features": data.schema,
        "hyperparameters": {},
        "seed": 0,
        "target": "paper",
        "grades": whole.scale.mapping,
        "null_candidate": null,
        "labels": data.digest,
        "run": "r",
        "groups": 1,
        "metrics": ranker.metrics,
        "cross_validated": ranker.cross_validated,
    }
    return save_model(folder, ranker.ranker, data.resources, about)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Folders of one ranker with the gate's word, one without, one that can be silent."""
    root = tmp_path_factory.mktemp("models")
    for name, null in (("lambdamart", False), ("fresh", False), ("lambdamart_null", True)):
        trained(root / name, null=null)
    for name in ("lambdamart", "lambdamart_null"):
        write_verdict(root / name, PASSED)
    return root


def with_models(folder, models, *names, **changes):
    given = {
        "embedder": HashConfig(dimension=32),
        "models": tuple(models / name for name in names),
        **changes,
    }
    return settings(folder, **given)


@pytest.fixture
def ranked(database, tmp_path, models):
    made_of = with_models(tmp_path / "index", models, "lambdamart", "lambdamart_null")
    with local_service(database, retrieval=made_of) as service:
        yield service
        service.application.close()


@pytest.fixture
def key(ranked):
    return ranked.mint("read", "write", calls_per_minute=10**6)


def filled(service, key):
    for number, producer in enumerate(PRODUCERS * 3):
        entry = contribute(service, key, number, producer=producer)
    indexed(service, key, entry["position"])


def test_a_ranker_orders(ranked, key, models):
    filled(ranked, key)
    by_similarity = retrieve(ranked, key)["decision"]
    answer = retrieve(ranked, key, mode="lambdamart")
    decision = answer["decision"]
    scores = [candidate["score"] for candidate in decision["candidates"]]
    assert scores == sorted(scores, reverse=True)
    assert answer["guidance"][0]["chunk"]["producer"] == "master"
    assert {c["chunk_id"] for c in decision["candidates"]} == {
        c["chunk_id"] for c in by_similarity["candidates"]
    }
    assert (decision["mode"], decision["gate"], decision["ungated"]) == (
        "lambdamart",
        "pass",
        False,
    )
    assert len(decision["model_id"]) == 16
    assert decision["feature_schema"]
    assert decision["null_propensity"] is None


def test_unknown_models_are_answered_with_those_known(ranked, key):
    answer = ranked.call("POST", f"{BASE}/retrieve", key, json=asked(mode="ffn"))
    assert answer.status_code == 422
    assert "known: lambdamart, lambdamart_null, similarity" in answer.json()["error"]["message"]


def test_what_the_gate_has_not_passed_is_refused(database, tmp_path, models):
    refused = with_models(tmp_path / "index", models, "fresh")
    with (
        pytest.raises(ConfigError, match=r"has not been before the gate.*--allow-ungated"),
        local_service(database, retrieval=refused),
    ):
        pass
    allowed = with_models(
        tmp_path / "index", models, "fresh", allow_ungated=True, default_mode="fresh"
    )
    with local_service(database, retrieval=allowed) as service:
        key = service.mint("read", "write")
        filled(service, key)
        decision = retrieve(service, key)["decision"]
        assert (decision["mode"], decision["gate"], decision["ungated"]) == ("fresh", "none", True)
        assert retrieve(service, key, mode="similarity")["decision"]["ungated"] is False
        service.application.close()


def test_a_verdict_that_is_no_pass_is_told(database, tmp_path, models):
    trained(tmp_path / "judged")
    verdict = {"status": "insufficient", "low": -0.11}
    write_verdict(tmp_path / "judged", PASSED.model_copy(update=verdict))
    with (
        pytest.raises(ConfigError, match=r"'insufficient' .*-11.0 to \+5.0, 268 pairs"),
        local_service(database, retrieval=with_models(tmp_path / "i", tmp_path, "judged")),
    ):
        pass


def test_another_embedder_than_the_models(database, tmp_path, models):
    made_of = with_models(
        tmp_path / "index", models, "lambdamart", embedder=HashConfig(dimension=64)
    )
    with (
        pytest.raises(InvalidInputError, match="same embedder"),
        local_service(database, retrieval=made_of),
    ):
        pass


def test_a_default_that_is_not_there(database, tmp_path, models):
    made_of = with_models(tmp_path / "index", models, "lambdamart", default_mode="ffn")
    with (
        pytest.raises(ConfigError, match="known: lambdamart, similarity"),
        local_service(database, retrieval=made_of),
    ):
        pass


def test_showing_nothing_can_be_chosen(database, tmp_path, models):
    """With exploration, silence is one of the arms, and each arm has its propensity."""
    made_of = with_models(
        tmp_path / "index",
        models,
        "lambdamart_null",
        exploration=ExplorationConfig(rate=1.0, over=20),
    )
    with local_service(database, retrieval=made_of) as service:
        key = service.mint("read", "write", calls_per_minute=10**6)
        filled(service, key)
        answers = [retrieve(service, key, mode="lambdamart_null") for _ in range(60)]
        service.application.close()
    silent = [answer for answer in answers if not answer["guidance"]]
    assert silent
    assert len(silent) < len(answers)
    for answer in answers:
        decision = answer["decision"]
        chances = [c["propensity"] for c in decision["candidates"]]
        assert sum(chances) + decision["null_propensity"] == pytest.approx(1)
        if not answer["guidance"]:
            assert (decision["shown"], decision["propensity"]) == ([], decision["null_propensity"])


def test_a_service_starts_with_its_chunks_prepared(database, tmp_path, models):
    made_of = with_models(tmp_path / "index", models, "lambdamart")
    with local_service(database, retrieval=made_of) as service:
        key = service.mint("read", "write", calls_per_minute=10**6)
        filled(service, key)
        before = retrieve(service, key, mode="lambdamart")
        service.application.close()
    with local_service(database, retrieval=made_of) as service:
        after = retrieve(service, key, mode="lambdamart")
        assert after["guidance"] == before["guidance"]
        assert after["decision"]["candidates"] == before["decision"]["candidates"]
        service.application.close()
    assert (tmp_path / "index" / "vectors" / "embeddings.sqlite").stat().st_size > 0
