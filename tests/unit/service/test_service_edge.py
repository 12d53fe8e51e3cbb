"""Around a proxy that is not ours: its orders are for nobody, its failures are in our form."""

import pytest
from ray.serve._private.http_util import RequestIdMiddleware
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.testclient import TestClient

from collegium.runtime.serve.proxy import CALLBACK, middlewares
from collegium.service.errors import ErrorEnvelope


def edged(app):
    """Put the middlewares around `app` as Serve does, behind its own."""
    app = RequestIdMiddleware(app)
    for each in middlewares():
        app = each.cls(app, *each.args, **each.kwargs)
    return TestClient(app, raise_server_exceptions=False)


def answering(response):
    async def app(scope, receive, send):
        await response(scope, receive, send)

    return edged(app)


async def echo(scope, receive, send):
    headers = [[n.decode("latin-1"), v.decode("latin-1")] for n, v in scope["headers"]]
    await JSONResponse(headers)(scope, receive, send)


@pytest.mark.parametrize(
    ("status", "code", "answered"),
    [
        (404, "not_found", 404),
        (408, "unavailable", 503),
        (429, "unavailable", 503),
        (500, "unavailable", 503),
        (503, "unavailable", 503),
    ],
)
def test_failures_of_the_proxy(status, code, answered):
    answer = answering(PlainTextResponse("The actor died: traceback", status)).get("/x")
    assert answer.status_code == answered
    error = ErrorEnvelope.model_validate_json(answer.content).error
    assert error.code == code
    assert answer.headers.get_list("x-request-id") == [error.request_id]
    assert "traceback" not in answer.text
    assert ("retry-after" in answer.headers) == (answered == 503)


def test_answers_of_applications_pass():
    for status in (200, 404, 503):
        answer = answering(JSONResponse({"mine": status}, status)).get("/x")
        assert (answer.status_code, answer.json()) == (status, {"mine": status})
    assert answering(PlainTextResponse("fine")).get("/x").text == "fine"


def test_a_proxy_that_breaks():
    async def broken(scope, receive, send):
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    answer = edged(broken).get("/x")
    assert answer.status_code == 500
    error = ErrorEnvelope.model_validate_json(answer.content).error
    assert error.code == "unexpected"
    assert "invalid start" not in answer.text


def test_a_proxy_that_says_nothing():
    """As Serve's when the replica that was answering dies."""

    async def silent(scope, receive, send):
        pass

    answer = edged(silent).get("/x")
    assert answer.status_code == 503
    assert ErrorEnvelope.model_validate_json(answer.content).error.code == "unavailable"
    assert answer.headers["retry-after"]


def test_request_ids_are_well_formed_before_the_proxy_sees_them():
    client = edged(echo)
    for bad in ("a b", "x" * 65, b"\xe9\xff", '"<script>'):
        answer = client.get("/x", headers={"x-request-id": bad})
        (seen,) = [value for name, value in answer.json() if name == "x-request-id"]
        assert answer.headers.get_list("x-request-id") == [seen]
        assert len(seen) == 32
    answer = client.get("/x", headers=[("x-request-id", "mine"), ("x-request-id", "other")])
    assert answer.headers.get_list("x-request-id") == ["mine"]


@pytest.mark.parametrize(
    "name",
    [
        "X-Request-Timeout-Seconds",
        "X-Request-Disconnect-Disabled",
        "serve_multiplexed_model_id",
        "X-Session-Id",
    ],
)
def test_orders_to_the_proxy_are_left_out(name):
    answer = edged(echo).get("/x", headers={name: b"\xe9", "x-other": "1"})
    names = {seen for seen, _ in answer.json()}
    assert name.lower() not in names
    assert "x-other" in names


def test_serve_finds_the_callback():
    module, _, name = CALLBACK.partition(":")
    assert (module, name) == (middlewares.__module__, middlewares.__name__)
