"""Contributing is acknowledged once and for good; paging leaves nothing out and says so."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from service_fixtures import example_trajectory

from collegium.core import Trajectory
from collegium.service.trajectories import CONTRIBUTED
from collegium.store.ledger.postgres import PostgresLedger

PATH = "/v1/namespaces/demo/trajectories"


@pytest.fixture
def key(service):
    return service.mint("write", "read", namespaces=["demo", "other"])


def contribute(service, key, number=1, path=PATH, **headers):
    body = {"trajectory": example_trajectory(number)}
    return service.call("POST", path, key, json=body, headers=headers)


def test_event_names_hash_producer_and_key(service, database, key):
    entry = contribute(service, key).json()
    (event,) = PostgresLedger(database).read(after=0)
    trajectory = Trajectory.model_validate(example_trajectory())
    assert event.type == CONTRIBUTED
    assert event.payload["trajectory_id"] == trajectory.trajectory_id == entry["trajectory_id"]
    assert event.payload["producer"] == "agent-a"
    assert event.payload["contributor"] == key.split("_")[1]
    assert (entry["position"], entry["number"]) == (event.position, event.version) == (1, 1)


def test_what_is_read_is_what_was_contributed(service, key):
    entry = contribute(service, key).json()
    answer = service.call("GET", f"{PATH}/{entry['trajectory_id']}", key).json()
    assert answer["entry"] == entry
    assert Trajectory.model_validate(answer["trajectory"]) == Trajectory.model_validate(
        example_trajectory()
    )


def test_again_is_once(service, key):
    first = contribute(service, key).json()
    assert contribute(service, key).json() == first
    changed = example_trajectory()
    changed["steps"][0]["usage"] = {"calls": 3}
    answer = service.call("POST", PATH, key, json={"trajectory": changed})
    assert answer.json() == first, "accounting is no part of the content"
    other = contribute(service, key, path=PATH.replace("demo", "other")).json()
    assert other["namespace"] == "other"
    assert service.call("GET", PATH, key).json()["total"] == 1


def test_many_at_once_are_one(service, key):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: contribute(service, key), range(16)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["position"] for answer in answers}) == 1


def test_idempotency_key(service, key):
    name = {"idempotency-key": "k-1"}
    first = contribute(service, key, 1, **name)
    assert contribute(service, key, 1, **name).json() == first.json()
    answer = contribute(service, key, 2, **name)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
    another = service.mint("write", namespaces=["demo"])
    assert contribute(service, another, 2, **name).status_code == 200, "keys have their own"
    for bad in ("", "a b", "x" * 129):
        assert contribute(service, key, 3, **{"idempotency-key": bad}).status_code == 422
    answer = service.call("GET", PATH, key, headers=name)
    assert answer.status_code == 422


def test_a_request_that_was_refused_does_not_use_up_its_key(service, key):
    name = {"idempotency-key": "k-2"}
    assert service.call("POST", PATH, key, json={}, headers=name).status_code == 422
    assert contribute(service, key, 1, **name).status_code == 200


def test_pages_leave_nothing_out(service, key):
    for number in range(7):
        contribute(service, key, number)
    seen, after, as_of = [], 0, None
    while after is not None:
        bound = "" if as_of is None else f"&as_of={as_of}"
        page = service.call("GET", f"{PATH}?limit=3&after={after}{bound}", key).json()
        seen += [item["task_id"] for item in page["items"]]
        assert page["total"] == 7
        after, as_of = page["next"], page["as_of"]
        contribute(service, key, 100 + len(seen))
    assert seen == [f"task/{number}" for number in range(7)]


def test_as_of(service, key):
    for number in range(3):
        contribute(service, key, number)
    page = service.call("GET", f"{PATH}?as_of=2", key).json()
    assert (page["total"], len(page["items"]), page["next"], page["as_of"]) == (2, 2, None, 2)
    page = service.call("GET", f"{PATH}?as_of=0", key).json()
    assert (page["total"], page["items"], page["next"]) == (0, [], None)
    past = service.call("GET", f"{PATH}?after=50", key).json()
    assert (past["items"], past["next"], past["total"]) == ([], None, 3)


def test_unknown_trajectories(service, key):
    entry = contribute(service, key).json()
    other = PATH.replace("demo", "other")
    for path in (f"{PATH}/{'0' * 32}", f"{other}/{entry['trajectory_id']}"):
        answer = service.call("GET", path, key)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert service.call("GET", f"{PATH}/xyz", key).status_code == 422
