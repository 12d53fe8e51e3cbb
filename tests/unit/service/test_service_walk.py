"""Nothing is reachable without its scope: every route, with every kind of key."""

import re
from datetime import UTC, datetime

import pytest
from fastapi.routing import APIRoute
from service_fixtures import example_trajectory, local_service
from starlette.routing import Route

from collegium.core import FixedClock
from collegium.embedding import HashConfig
from collegium.service.operations import Scope
from collegium.service.retrieval import RetrievalSettings

OPEN = {"/healthz", "/readyz", "/version", "/openapi.json"}
GUARDED = {"/mcp"}
KINDS = ("none", "foreign", "unknown", "malformed", "read", "write", "admin", "revoked", "expired")


@pytest.fixture
def clock():
    return FixedClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def walked(database, clock, tmp_path):
    """With everything that can be offered."""
    retrieval = RetrievalSettings(folder=tmp_path / "index", embedder=HashConfig(dimension=8))
    with local_service(database, clock=clock, retrieval=retrieval) as service:
        yield service
        service.application.close()


@pytest.fixture
def keys(walked, clock):
    expired = walked.mint("read", "write", "admin", expires_in_days=1)
    revoked = walked.mint("read", "write", "admin")
    clock.advance(2 * 86400)
    walked.revoke(revoked)
    return {
        "none": None,
        "unknown": f"clg_{'0' * 12}_{'0' * 64}",
        "malformed": "x",
        "foreign": walked.mint("read", "write", namespaces=["elsewhere"]),
        "read": walked.mint("read", namespaces=["demo"]),
        "write": walked.mint("write", namespaces=["demo"]),
        "admin": walked.mint("admin"),
        "revoked": revoked,
        "expired": expired,
    }


def expected(operation, kind):
    """Return the statuses that are right: 401 for no caller, 403 for the wrong one."""
    if kind in ("none", "unknown", "malformed", "revoked", "expired"):
        return {401}
    if kind == "admin" or (kind == operation.scope.value):
        return {200, 404, 422}
    return {403}


def filled(operation):
    values = {**operation.example.model_dump(mode="json"), "namespace": "demo"}
    return re.sub(r"{(\w+)}", lambda match: str(values[match[1]]), operation.path)


def test_every_route_asks_for_its_scope(walked, keys):
    seen = 0
    for operation in walked.application.registry:
        for kind in KINDS:
            answer = walked.call(operation.method, filled(operation), keys[kind])
            assert answer.status_code in expected(operation, kind), (operation.name, kind)
            seen += 1
    assert seen == len(KINDS) * len(list(walked.application.registry))


def test_every_tool_asks_for_its_scope(walked, keys):
    for operation in walked.application.registry:
        arguments = {**operation.example.model_dump(mode="json"), "namespace": "demo"}
        for kind in KINDS:
            answer = walked.call("POST", "/mcp", keys[kind], json=tool_call(operation, arguments))
            if 401 in expected(operation, kind):
                assert answer.status_code == 401, (operation.name, kind)
                continue
            result = answer.json()["result"]
            code = result["structuredContent"].get("error", {}).get("code")
            if operation.secret:
                assert code == "not_found", operation.name
            else:
                assert (code == "forbidden") == (expected(operation, kind) == {403}), kind


def tool_call(operation, arguments):
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": operation.name, "arguments": arguments},
    }


def test_there_is_no_route_beside_the_registry(walked):
    """A route that somebody adds by hand has no scope, and turns up here."""
    declared = {(o.method, o.path) for o in walked.application.registry}
    for route in walked.client.app.routes:
        assert isinstance(route, APIRoute | Route), route
        if route.path in OPEN | GUARDED:
            continue
        assert {(method, route.path) for method in route.methods} <= declared, route


def test_every_operation_declares_a_scope(walked):
    for operation in walked.application.registry:
        assert isinstance(operation.scope, Scope)


@pytest.mark.parametrize("path", sorted(OPEN))
def test_open_routes_tell_no_secrets(walked, path):
    key = walked.mint("read")
    answer = walked.call("GET", path)
    assert answer.status_code == 200
    assert key.split("_")[1] not in answer.text


def test_keys_work_where_they_should(walked, keys):
    path = "/v1/namespaces/demo/trajectories"
    body = {"trajectory": example_trajectory()}
    assert walked.call("POST", path, keys["write"], json=body).status_code == 200
    assert walked.call("GET", path, keys["read"]).json()["total"] == 1
    assert walked.call("GET", "/v1/keys", keys["admin"]).json()["total"] == 6
