"""The operations as tools, called with the official client."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio
import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from service_fixtures import example_trajectory, local_service

from collegium.service.application import ServiceApplication
from collegium.service.http.limits import Limits
from collegium.service.mcp import build_mcp_server
from collegium.service.operations import Door, Incoming


@asynccontextmanager
async def connected(app, key):
    """Connect over streamable HTTP to the application in this process."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, headers=headers) as http,
        Client(streamable_http_client("http://service/mcp", http_client=http)) as client,
    ):
        yield client


@pytest.fixture
def application(database):
    return ServiceApplication(database)


def with_client(application, key, act):
    async def run():
        async with connected(application.http_app(Limits()), key) as client:
            return await act(client)

    return asyncio.run(run())


def answer_of(result):
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def test_contribute_and_read(service, application):
    async def act(client):
        given = {"namespace": "demo", "trajectory": example_trajectory()}
        entry = answer_of(await client.call_tool("contribute_trajectory", given))
        which = {"namespace": "demo", "trajectory_id": entry["trajectory_id"]}
        read = answer_of(await client.call_tool("read_trajectory", which))
        assert read["entry"] == entry
        return answer_of(await client.call_tool("list_trajectories", {"namespace": "demo"}))

    key = service.mint("read", "write", namespaces=["demo"])
    page = with_client(application, key, act)
    assert page == service.call("GET", "/v1/namespaces/demo/trajectories", key).json()
    assert page["total"] == 1


def test_tools_are_the_operations(service, application):
    async def act(client):
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in with_client(application, service.mint("read"), act)}
    offered = {o.name: o for o in application.registry if not o.secret}
    assert set(tools) == set(offered)
    assert {"mint_key", "rotate_key"}.isdisjoint(tools)
    for name, operation in offered.items():
        assert set(tools[name].input_schema["properties"]) == set(operation.input.model_fields)
        assert tools[name].annotations.read_only_hint == (operation.method == "GET")


def test_failures_are_the_envelope(service, application):
    async def act(client):
        calls = [
            ("contribute_trajectory", {"namespace": "demo"}, "forbidden"),
            ("list_trajectories", {"namespace": "other"}, "forbidden"),
            ("list_trajectories", {}, "forbidden"),
            ("list_trajectories", {"namespace": ["demo"]}, "forbidden"),
            ("list_trajectories", {"namespace": "demo", "limit": 0}, "invalid_input"),
            ("list_trajectories", {"namespace": "demo", "x": "a\0"}, "invalid_input"),
            ("read_trajectory", {"namespace": "demo", "trajectory_id": "0" * 32}, "not_found"),
            ("mint_key", {"scopes": ["admin"], "namespaces": None}, "not_found"),
            ("unknown", {}, "not_found"),
        ]
        for name, arguments, code in calls:
            result = await client.call_tool(name, arguments)
            assert result.is_error, name
            error = answer_of(result)["error"]
            assert error["code"] == code, (name, arguments)
            assert error["request_id"]

    with_client(application, service.mint("read", namespaces=["demo"]), act)


def test_no_key_no_tools(service):
    for key in (None, f"clg_{'0' * 12}_{'0' * 64}"):
        answer = service.call("POST", "/mcp", key, json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")


def test_no_stream_is_held_open_for_nothing(service):
    """Without sessions the server has nothing of its own to say: GET would wait for ever."""
    key = service.mint("read")
    for method in ("GET", "DELETE"):
        answer = service.call(method, "/mcp", key, headers={"accept": "text/event-stream"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert answer.json()["error"]["code"] == "method_not_allowed"


def test_those_turned_away_leave_a_line_and_a_count(database, capsys):
    counted = []

    class Counting:
        def called(self, operation, door, code, seconds):
            counted.append((operation, door, code))

    with local_service(database, recorder=Counting()) as service:
        service.call("POST", "/mcp", "nonsense", json={})
    assert counted == [("unknown", "mcp", "unauthenticated")]
    assert "refused" in capsys.readouterr().out


def test_calls_that_nobody_waits_for_are_not_counted_as_answered(service):
    counted = []

    class Counting:
        def called(self, operation, door, code, seconds):
            counted.append((operation, code))

    async def run():
        gateway = replace(service.application.gateway, recorder=Counting())
        operation = service.application.registry["list_trajectories"]
        admit = partial(gateway.admit, service.mint("read"))
        read = partial(anyio.sleep, 20)
        with anyio.move_on_after(0.2):
            await gateway.call(operation, Incoming(Door.HTTP, admit, "r", "demo", read))

    anyio.run(run)
    assert counted == [("list_trajectories", "cancelled")]


def test_every_message_counts(service):
    key = service.mint("read", calls_per_minute=2)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    statuses = [service.call("POST", "/mcp", key, json=body).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_over_any_transport_the_key_counts(service, application):
    """The server behind stdio: same tools, same gateway, the key given at the start."""
    key = service.mint("read", namespaces=["demo"])

    async def run():
        server = build_mcp_server(
            application.registry,
            application.gateway,
            lambda _: application.gateway.admit(key),
            lambda _: "request-1",
        )
        async with Client(server) as client:
            page = answer_of(await client.call_tool("list_trajectories", {"namespace": "demo"}))
            refused = await client.call_tool("list_trajectories", {"namespace": "other"})
            return page, answer_of(refused)["error"]

    page, error = asyncio.run(run())
    assert page["total"] == 0
    assert (error["code"], error["request_id"]) == ("forbidden", "request-1")
