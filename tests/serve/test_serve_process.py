"""`collegium serve` as people start it: a process, real HTTP, the official MCP client, its end."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from scratch_databases import scratch_folder
from service_fixtures import example_trajectory

pytestmark = pytest.mark.cluster

COMMAND = (sys.executable, "-c", "import sys; from collegium.cli import main; sys.exit(main())")
NAMESPACE = "/v1/namespaces/demo/trajectories"
STARTED_WITHIN_S = 240


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def environment():
    """Variables for commands that share one embedded database of their own."""
    with scratch_folder() as folder:
        kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        yield {**kept, "COLLEGIUM_DATA": str(folder / "data")}


def command(environment, *arguments):
    done = subprocess.run(
        [*COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def mint(environment, *arguments):
    code, out, err = command(environment, "key", "mint", "--json", *arguments)
    assert code == 0, err
    return json.loads(out)["key"]


@contextmanager
def served(environment, port, log):
    with log.open("w") as lines:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", str(port), "--json"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=lines,
            text=True,
        )
        try:
            assert json.loads(process.stdout.readline())["address"].endswith(str(port))
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=120)
            code = process.returncode
    assert code == 0, log.read_text()
    assert rest == ""


@pytest.fixture(scope="module")
def address(environment, tmp_path_factory):
    port = free_port()
    with served(environment, port, tmp_path_factory.mktemp("serve") / "log"):
        yield f"http://127.0.0.1:{port}"


@pytest.mark.timeout(STARTED_WITHIN_S)
def test_over_http(address, environment):
    key = mint(environment, "--scope", "read", "--scope", "write", "--namespace", "demo")
    with httpx.Client(base_url=address, headers={"authorization": f"Bearer {key}"}) as http:
        for path in ("/healthz", "/readyz", "/version", "/openapi.json"):
            assert http.get(path).status_code == 200
        body = {"trajectory": example_trajectory()}
        ids = {"x-request-id": "mine-1"}
        answer = http.post(NAMESPACE, json=body, headers=ids)
        assert answer.status_code == 200
        assert answer.headers.get_list("x-request-id") == ["mine-1"]
        assert http.get(NAMESPACE).json()["total"] >= 1
        assert http.get("/v1/keys").status_code == 403
        answer = http.get(NAMESPACE.replace("demo", "other"))
        assert answer.json()["error"]["code"] == "forbidden"
        assert http.post(NAMESPACE, content=b" " * (2 << 20)).status_code == 413
        answer = http.get("/nope", headers={"authorization": ""})
        assert answer.json()["error"]["code"] == "not_found"


def call_tools(client, number):
    async def run():
        async with client as connected:
            assert len((await connected.list_tools()).tools) >= 3
            given = {"namespace": "demo", "trajectory": example_trajectory(number)}
            entry = (await connected.call_tool("contribute_trajectory", given)).structured_content
            which = {"namespace": "demo", "trajectory_id": entry["trajectory_id"]}
            read = (await connected.call_tool("read_trajectory", which)).structured_content
            assert read["trajectory"]["task"]["task_id"] == f"task/{number}"
            refused = await connected.call_tool("list_trajectories", {"namespace": "other"})
            assert refused.structured_content["error"]["code"] == "forbidden"

    return run()


@pytest.mark.timeout(STARTED_WITHIN_S)
def test_over_mcp(address, environment):
    key = mint(environment, "--scope", "read", "--scope", "write", "--namespace", "demo")

    async def run():
        async with httpx.AsyncClient(headers={"authorization": f"Bearer {key}"}) as http:
            client = Client(streamable_http_client(f"{address}/mcp", http_client=http))
            await call_tools(client, 2)

    asyncio.run(run())
    assert httpx.post(f"{address}/mcp", json={}).status_code == 401


@pytest.mark.timeout(STARTED_WITHIN_S)
def test_over_stdio(environment):
    key = mint(environment, "--scope", "read", "--scope", "write", "--namespace", "demo")
    server = StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "serve", "--stdio"],
        env={**environment, "COLLEGIUM_KEY": key},
    )
    asyncio.run(call_tools(Client(stdio_client(server)), 3))


def test_revoked_over_the_network(address, environment):
    key = mint(environment, "--scope", "read", "--namespace", "demo")
    code, _, err = command(environment, "key", "revoke", key.split("_")[1])
    assert code == 0, err
    headers = {"authorization": f"Bearer {key}"}
    assert httpx.get(f"{address}{NAMESPACE}", headers=headers).status_code == 401


def test_what_cannot_start_says_why(environment):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, _, err = command(environment, "serve", "--port", port)
    assert code == 2
    assert f"port {port}" in err
    assert "--port" in err
    code, _, err = command(environment, "serve", "--stdio")
    assert code == 2
    assert "COLLEGIUM_KEY" in err
    wrong = {**environment, "COLLEGIUM_KEY": f"clg_{'0' * 12}_{'0' * 64}"}
    code, _, err = command(wrong, "serve", "--stdio")
    assert code == 2
    assert "unknown, revoked or expired" in err
