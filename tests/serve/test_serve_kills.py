"""`collegium serve` while parts of it are killed, and when two want the same: real processes."""

import fcntl
import itertools
import json
import os
import socket
import subprocess
import time
from contextlib import closing

import httpx
import psutil
import pytest
from scratch_databases import scratch_folder
from service_load import Load, kill_server, wait_until
from test_serve_process import COMMAND, command, free_port, mint, served

from collegium.service.errors import ErrorEnvelope
from collegium.store.database import Database
from collegium.store.embedded import EmbeddedServer
from collegium.store.settings import DatabaseSettings

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

OUTAGE_S = 30
_firsts = itertools.count(0, 1_000_000)


@pytest.fixture(scope="module")
def data():
    with scratch_folder() as folder:
        yield folder / "data"


@pytest.fixture(scope="module")
def environment(data):
    kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return {**kept, "COLLEGIUM_DATA": str(data)}


@pytest.fixture(scope="module")
def running(environment, tmp_path_factory):
    port = free_port()
    with served(environment, port, tmp_path_factory.mktemp("kills") / "log") as process:
        yield psutil.Process(process.pid), port


@pytest.fixture
def load(running, environment):
    """A load, not yet running, of trajectories that no other test contributes."""
    _, port = running
    key = mint(environment, "--scope", "write", "--all-namespaces", "--calls-per-minute", "1000000")
    headers = {"authorization": f"Bearer {key}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as http:
        yield Load(lambda path, body: http.post(path, json=body), next(_firsts))


def check(load, data, within_s=12.0):
    with closing(Database.open(DatabaseSettings(data_dir=data))) as database:
        load.check(database, within_s)


def part(process, name):
    (found,) = [p for p in process.children(recursive=True) if name in " ".join(p.cmdline())]
    return found


def test_killed_database(running, load, data):
    """Nobody can start it for 30 s; then the service does, without help."""
    server = EmbeddedServer(data)
    with load.running():
        load.wait_for_more()
        with (data / "start.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kill_server(server)
            time.sleep(OUTAGE_S)
            assert load.refusals
            assert server.pid() is None
        load.wait_for_more()
    check(load, data)


def test_killed_replica(running, load, data):
    process, port = running
    with load.running():
        load.wait_for_more()
        part(process, "ServeReplica").kill()
        load.wait_for_more()
    check(load, data, within_s=60)
    assert httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200


def test_killed_controller(running, load, data):
    process, _ = running
    with load.running():
        load.wait_for_more()
        part(process, "ServeController").kill()
        load.wait_for_more()
    check(load, data)
    assert not load.refusals


def test_killed_proxy(running):
    """Nobody can answer meanwhile; it is back soon."""
    process, port = running
    part(process, "ProxyActor").kill()
    wait_until(lambda: not is_healthy(port), 10)
    wait_until(lambda: is_healthy(port), 60)


def is_healthy(port):
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def spoken(port, request):
    """Send bytes that no client library would; return status line, headers and body."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(request)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.decode("latin-1").partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    return int(first.split()[1]), [line.lower() for line in lines], body


def test_the_proxy_answers_as_the_service_does(running):
    _, port = running
    tail = b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    status, headers, body = spoken(port, b"OPTIONS *" + tail + b"X-Request-Id: a b\r\n\r\n")
    error = ErrorEnvelope.model_validate_json(body).error
    assert (status, error.code) == (404, "not_found")
    assert [line for line in headers if line.startswith("x-request-id")] == [
        f"x-request-id: {error.request_id}"
    ]
    for line in (b"X-Request-Id", b"X-Request-Timeout-Seconds", b"serve_multiplexed_model_id"):
        status, *_ = spoken(port, b"GET /healthz" + tail + line + b": \xe9\xff\r\n\r\n")
        assert status == 200
    status, *_ = spoken(port, b"GET /readyz" + tail + b"X-Request-Timeout-Seconds: 1e-9\r\n\r\n")
    assert status == 200


def test_places_are_left_to_others(running, environment):
    """A key whose bodies trickle on every connection does not stop the service."""
    _, port = running
    key = mint(environment, "--scope", "write", "--all-namespaces")
    request = (
        f"POST /v1/namespaces/demo/trajectories HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        f"Content-Length: 1000\r\n\r\n{{"
    ).encode()
    slow = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(130)]
    try:
        for connection in slow:
            connection.sendall(request)
        time.sleep(2)
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5).status_code == 200
    finally:
        for connection in slow:
            connection.close()


def test_a_second_service_on_the_port_is_refused(running, environment):
    _, port = running
    code, _, err = command(environment, "serve", "--port", str(port))
    assert code == 2
    assert "--port" in err


def test_two_that_start_at_once_do_not_share_a_port(environment):
    """Each would announce it, and the kernel would deal requests out among them."""
    port = str(free_port())
    started = [_start(environment, port) for _ in range(2)]
    loser = _first_to_end(started)
    (winner,) = [process for process in started if process is not loser]
    assert loser.returncode == 2
    assert "another `collegium serve`" in loser.stdout.read()
    assert json.loads(winner.stdout.readline())["address"].endswith(port)
    winner.terminate()
    assert winner.wait(60) == 0
    for process in started:
        process.communicate()


def test_told_to_end_while_starting(environment):
    process = _start(environment, str(free_port()))
    while not psutil.Process(process.pid).children():  # Ray's, or the database's
        assert process.poll() is None
        time.sleep(0.1)
    process.terminate()
    _, err = process.communicate(timeout=120)
    assert process.returncode in (0, 15), err  # 15: Ray had the word just then
    assert err == ""


def _start(environment, port):
    return subprocess.Popen(
        [*COMMAND, "serve", "--port", port, "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _first_to_end(processes):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for process in processes:
            if process.poll() is not None:
                return process
        time.sleep(0.1)
    raise AssertionError("both go on")
