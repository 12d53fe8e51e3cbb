"""Retrieval over a real ledger: found once indexed, decided with known chances, kept for good."""

import time
from collections import Counter
from uuid import UUID

import pytest
from service_fixtures import example_trajectory, local_service

from collegium.embedding import HashConfig
from collegium.experience import MemoryConfig
from collegium.service.retrieval import ExplorationConfig, RetrievalSettings
from collegium.service.retrieval.library import Progress
from collegium.service.retrieval.producers import ProducerModel
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.read_models import Projector

BASE = "/v1/namespaces/demo"


def settings(folder, **changes):
    given = {
        "folder": folder,
        "embedder": HashConfig(dimension=64),
        "exploration": ExplorationConfig(rate=0.0),
        **changes,
    }
    return RetrievalSettings(**given)


@pytest.fixture
def retrieval(database, tmp_path):
    with local_service(database, retrieval=settings(tmp_path / "index")) as service:
        yield service
        service.application.close()


@pytest.fixture
def key(retrieval):
    return retrieval.mint("read", "write", namespaces=["demo", "other"])


def asked(number=99, **changes):
    body = {
        "task": example_trajectory(number)["task"],
        "state": {
            "grammar": "alfworld-0.4",
            "initial_observation": "You see a desk 1 and a shelf 1.",
        },
        "consumer": "agent-b",
        "k": 3,
    }
    return {**body, **changes}


def contribute(service, key, number=1, base=BASE, **changes):
    body = {"trajectory": {**example_trajectory(number), **changes}}
    answer = service.call("POST", f"{base}/trajectories", key, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def retrieve(service, key, base=BASE, **changes):
    answer = service.call("POST", f"{base}/retrieve", key, json=asked(**changes))
    assert answer.status_code == 200, answer.text
    return answer.json()


def indexed(service, key, position, base=BASE):
    """Return an answer that stands on everything up to `position`."""
    deadline = time.monotonic() + 30
    while (answer := retrieve(service, key, base))["decision"]["as_of"] < position:
        assert time.monotonic() < deadline, answer["decision"]
        time.sleep(0.05)
    return answer


def test_what_was_contributed_is_found(retrieval, key, database):
    entry = contribute(retrieval, key)
    answer = indexed(retrieval, key, entry["position"])
    first = answer["guidance"][0]
    assert first["chunk"]["trajectory_id"] == entry["trajectory_id"]
    assert first["chunk"]["partition"] == entry["position"]
    assert "go to shelf 1" in first["text"]
    decision = answer["decision"]
    assert (decision["mode"], decision["model_id"], decision["ungated"]) == (
        "similarity",
        None,
        False,
    )
    assert decision["propensity"] == 1.0
    assert [c["chunk_id"] for c in decision["candidates"]][:1] == decision["shown"][:1]
    event = PostgresLedger(database).read(answer["position"] - 1, 1)[0]
    assert event.type == "retrieval.decided"
    assert event.payload["decision"] == decision
    assert event.payload["query"]["consumer"] == "agent-b"


def test_the_query_is_what_a_chunk_key_is(retrieval, key):
    """A consumer in the very state of a producer is at distance 0 from that chunk."""
    trajectory = example_trajectory(1)
    entry = contribute(retrieval, key)
    indexed(retrieval, key, entry["position"])
    state = {
        "grammar": "alfworld-0.4",
        "initial_observation": trajectory["initial_observation"],
        "steps": [{"action": "go to shelf 1", "observation": "You see a mug 1."}],
    }
    answer = retrieve(retrieval, key, state=state, k=1)
    assert answer["guidance"][0]["chunk"]["progress"] == 1
    assert answer["decision"]["candidates"][0]["retrieval_score"] == 0.0


def test_only_what_deserves_it_is_indexed(retrieval, key):
    contribute(retrieval, key, 1, success=False, score=0.0)
    task = {**example_trajectory(2)["task"], "split": "valid_unseen"}
    entry = contribute(retrieval, key, 2, task=task)
    assert indexed(retrieval, key, entry["position"])["guidance"] == []


def test_namespaces_are_apart(retrieval, key):
    entry = contribute(retrieval, key, base="/v1/namespaces/other")
    assert indexed(retrieval, key, entry["position"])["guidance"] == []
    assert retrieve(retrieval, key, "/v1/namespaces/other")["guidance"]
    foreign = retrieval.mint("read", namespaces=["demo"])
    answer = retrieval.call("POST", "/v1/namespaces/other/retrieve", foreign, json=asked())
    assert answer.status_code == 403


def test_own_task_and_scopes(retrieval, key):
    other = {**example_trajectory(2)["task"], "task_type": "look_at_obj_in_light"}
    contribute(retrieval, key, 1)
    entry = contribute(retrieval, key, 2, task=other, producer="agent-c")
    indexed(retrieval, key, entry["position"])

    def found(**changes):
        chunks = [one["chunk"] for one in retrieve(retrieval, key, **changes)["guidance"]]
        return {chunk["task_id"] for chunk in chunks}

    assert found(k=4) == {"task/1", "task/2"}
    assert found(number=1, k=4) == {"task/2"}
    assert found(number=1, k=4, exclude_own_task=False) == {"task/1", "task/2"}
    assert found(k=4, scope="same_task") == {"task/1"}
    assert found(k=4, scope="cross_task") == {"task/2"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"scope": "mine"}, "'full', 'same_task' or 'cross_task'"),
        ({"mode": "lambdamart"}, "known: similarity"),
        ({"k": 0}, "k: "),
        ({"k": 21}, "k: "),
        ({"consumer": ""}, "consumer: "),
        ({"task": {}}, "task.goal|task.task_id"),
        ({"state": {"grammar": "g"}}, "state.initial_observation"),
        ({"state": {"grammar": "old", "initial_observation": "x"}}, "known: alfworld-0.4"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_bad_requests_say_what_is_known(retrieval, key, changes, told):
    entry = contribute(retrieval, key)
    indexed(retrieval, key, entry["position"])
    answer = retrieval.call("POST", f"{BASE}/retrieve", key, json=asked(**changes))
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "invalid_input"
    assert any(part in error["message"] for part in told.split("|")), error


def test_a_library_outlives_its_service_and_is_made_again(database, tmp_path):
    folder = tmp_path / "index"
    with local_service(database, retrieval=settings(folder)) as first:
        key = first.mint("read", "write", namespaces=["demo"])
        entry = contribute(first, key)
        before = indexed(first, key, entry["position"])
        first.application.close()
    with local_service(database, retrieval=settings(folder)) as second:
        assert retrieve(second, key)["guidance"] == before["guidance"]
        second.application.close()
    with local_service(database, retrieval=settings(tmp_path / "lost")) as third:
        again = indexed(third, key, entry["position"])
        assert again["guidance"] == before["guidance"]
        assert third.call("GET", "/readyz").status_code == 200
        third.application.close()


def test_other_settings_are_another_library(database, tmp_path):
    folder = tmp_path / "index"
    for window, steps in ((5, 2), (1, 1)):
        made_of = settings(folder, memory=MemoryConfig(window=window))
        with local_service(database, retrieval=made_of) as service:
            key = service.mint("read", "write", namespaces=["demo"])
            entry = contribute(service, key)
            answer = indexed(service, key, entry["position"])
            assert len(answer["guidance"][0]["chunk"]["steps"]) == steps
            service.application.close()


def test_exploration_is_as_often_as_it_says(database, tmp_path):
    made_of = settings(tmp_path / "index", exploration=ExplorationConfig(rate=0.5, over=3))
    with local_service(database, retrieval=made_of) as service:
        key = service.mint("read", "write", calls_per_minute=1_000_000)
        for number in range(3):
            entry = contribute(service, key, number, producer=f"agent-{number}")
        indexed(service, key, entry["position"])
        answers = [retrieve(service, key) for _ in range(300)]
        service.application.close()
    best = answers[0]["decision"]["candidates"][0]["chunk_id"]
    first = Counter(answer["decision"]["shown"][0] for answer in answers)
    assert len(first) == 3
    assert 0.55 < first[best] / 300 < 0.78, "2/3 expected"
    for answer in answers:
        decision = answer["decision"]
        chances = {c["chunk_id"]: c["propensity"] for c in decision["candidates"]}
        assert decision["propensity"] == chances[decision["shown"][0]]
        assert sum(chances.values()) == pytest.approx(1)
        assert decision["exploration"]["rate"] == 0.5
        if not decision["exploration"]["explored"]:
            assert decision["shown"][0] == best


def pages(service, key, limit):
    found, after = [], 0
    while after is not None:
        page = service.call("GET", f"{BASE}/outcomes?limit={limit}&after={after}", key).json()
        found, after = found + page["items"], page["next"]
    return found


def test_outcomes_and_producers(retrieval, key, database):
    contribute(retrieval, key, 1)
    entry = contribute(retrieval, key, 2, producer="agent-c", success=False, score=0.0)
    made = indexed(retrieval, key, entry["position"])["decision"]
    body = {"retrieval_id": made["retrieval_id"], "success": True, "score": 1.0, "steps": 7}
    answer = retrieval.call("POST", f"{BASE}/outcomes", key, json=body)
    assert answer.status_code == 200, answer.text
    outcome = answer.json()
    assert (outcome["chunk_id"], outcome["producer"]) == (made["shown"][0], "agent-a")
    again = retrieval.call("POST", f"{BASE}/outcomes", key, json=body)
    assert again.json() == outcome, "told twice, counted once"
    read = retrieval.call("GET", f"{BASE}/retrievals/{made['retrieval_id']}", key).json()
    assert (read["decision"], read["outcome"]) == (made, outcome)
    assert read["query"]["task_id"] == outcome["task_id"] == "task/99"
    assert pages(retrieval, key, limit=1) == pages(retrieval, key, limit=100) == [outcome]
    changed = retrieval.call("POST", f"{BASE}/outcomes", key, json={**body, "steps": 8})
    assert changed.status_code == 409
    path = "/v1/namespaces/other/outcomes"
    assert retrieval.call("POST", path, key, json=body).status_code == 404
    listed = retrieval.call("GET", f"{BASE}/producers", key).json()
    first, second = listed["producers"]
    assert (first["producer"], first["trajectories"], first["outcomes"]) == ("agent-a", 1, 1)
    assert first["success_rate"] == 1.0
    assert first["credit"] == {"tasks": 1, "estimate": 0.0, "low": None, "high": None}
    assert second["credit"] is None
    assert (second["producer"], second["successes"], second["retrievals"]) == ("agent-c", 0, 0)
    ledger = PostgresLedger(database)
    assert listed["as_of"] == ledger.position()
    assert Projector(ledger, ProducerModel()).compare() == []


def test_a_reader_alone_may_retrieve_but_not_report(retrieval, key):
    reader = retrieval.mint("read", namespaces=["demo"])
    made = retrieve(retrieval, reader)["decision"]
    body = {"retrieval_id": made["retrieval_id"], "success": True, "score": 1.0, "steps": 7}
    assert retrieval.call("POST", f"{BASE}/outcomes", reader, json=body).status_code == 403
    assert retrieval.call("POST", f"{BASE}/retrieve", None, json=asked()).status_code == 401


def test_an_index_ahead_of_a_restored_ledger_is_made_anew(database, tmp_path):
    folder = tmp_path / "index"
    with local_service(database, retrieval=settings(folder)) as service:
        key = service.mint("read", "write", namespaces=["demo"])
        entry = contribute(service, key)
        indexed(service, key, entry["position"])
        service.application.close()
    (progress,) = folder.glob("*/progress.json")
    lost = Progress(position=900, newest=900, newest_id=UUID(int=7))
    progress.write_text(lost.model_dump_json())
    with local_service(database, retrieval=settings(folder)) as service:
        deadline = time.monotonic() + 30
        while Progress.model_validate_json(progress.read_bytes()).newest != entry["position"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert retrieve(service, key)["guidance"]
        service.application.close()
