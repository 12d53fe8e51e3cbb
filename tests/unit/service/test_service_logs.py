"""A session's log lines: JSON with ids, and never a key or what a caller sent."""

import io
import json
import logging
import sys

import pytest
import structlog
from service_fixtures import example_trajectory, local_service

from collegium.service.logs import configure_logs

PATH = "/v1/namespaces/demo/trajectories"


@pytest.fixture
def logged(database, monkeypatch):
    """Give the service, and a function that returns what was logged, in a process's usual state."""
    root, stream = logging.getLogger(), io.StringIO()
    kept = root.handlers[:]
    root.handlers.clear()
    monkeypatch.setattr(sys, "stderr", stream)
    configure_logs(2)
    ours = root.handlers[:]
    with local_service(database) as service:
        yield service, stream.getvalue
    root.handlers[:] = [handler for handler in kept if handler not in ours]
    structlog.reset_defaults()


def session(service):
    """Use every operation, with keys good and bad; return all secrets that were about."""
    admin = service.mint("admin")
    minted = service.call("POST", "/v1/keys", admin, json={"scopes": ["write"], "namespaces": None})
    key = minted.json()["key"]
    path = f"/v1/keys/{key.split('_')[1]}"
    rotated = service.call("POST", f"{path}/rotate", admin, json={"grace_s": 60}).json()["key"]
    body = {"trajectory": example_trajectory()}
    for each in (admin, key, rotated):
        service.call("POST", PATH, each, json=body, headers={"x-request-id": "r-1"})
        service.call("POST", PATH, each, json={"trajectory": each})
        service.call("GET", f"{PATH}?after={each}", each)
        service.call("GET", f"/v1/{each}", each)
        service.call("POST", f"/v1/keys/{each}/revoke", admin)
        service.call("POST", "/mcp", each, json={"method": each, "params": each})
        service.call("GET", PATH, each.upper())
    service.call("POST", f"{path}/revoke", admin)
    service.call("GET", PATH, key)
    return [each.split("_")[2] for each in (admin, key, rotated)]


def test_no_line_of_a_whole_session_holds_a_key(logged):
    service, lines = logged
    secrets = session(service)
    text = lines()
    assert len(text.splitlines()) > 15
    assert not [secret for secret in secrets if secret in text]
    assert "put some mug" not in text


def test_lines_are_json_with_ids(logged):
    service, lines = logged
    key = service.mint("read", namespaces=["demo"])
    ids = {"x-request-id": "request-7", "x-run-id": "run-9"}
    service.call("GET", PATH, key, headers=ids)
    service.call("GET", "/v1/keys", key, headers={**ids, "x-run-id": "not {well} formed"})
    good, bad = [json.loads(line) for line in lines().splitlines() if '"call"' in line]
    assert good["request_id"] == bad["request_id"] == "request-7"
    assert (good["run_id"], bad.get("run_id")) == ("run-9", None)
    assert (good["operation"], good["code"], good["namespace"]) == (
        "list_trajectories",
        "ok",
        "demo",
    )
    assert good["key_id"] == key.split("_")[1]
    assert good["ms"] > 0
    assert (bad["code"], bad["operation"]) == ("forbidden", "list_keys")


def test_lines_of_libraries_and_tracebacks_are_struck_as_well(logged):
    service, lines = logged
    key = service.mint("read")
    logging.getLogger("somebody.else").warning("odd header: %s", key)
    try:
        raise ValueError(f"cannot read {key}")
    except ValueError:
        structlog.get_logger().exception("failed", given={"deep": [key]})
    text = lines()
    assert key.split("_")[2] not in text
    assert text.count("[secret]") >= 3
    assert all(json.loads(line)["level"] in ("warning", "error") for line in text.splitlines())
