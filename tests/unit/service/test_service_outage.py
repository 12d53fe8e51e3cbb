"""The database is killed under load: 503 with Retry-After, nothing acknowledged lost, no help."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from scratch_databases import fresh_database, scratch_folder
from service_fixtures import example_trajectory, local_service

from collegium.service.errors import ErrorEnvelope
from collegium.store.database import Database
from collegium.store.embedded import EmbeddedServer
from collegium.store.ledger.postgres import PostgresLedger

PATH = "/v1/namespaces/demo/trajectories"
WRITERS = 4


@pytest.fixture
def own_server():
    """A server as people have it, durable (that of the other tests is not), to be killed."""
    with scratch_folder() as folder:
        server = EmbeddedServer(folder)
        server.acquire()
        yield server
        server.release()


class Load:
    """Writers that contribute one trajectory after another, each until it is acknowledged."""

    def __init__(self, service, key):
        self.service, self.key = service, key
        self.ended = threading.Event()
        self.acknowledged = []
        self.refusals = []
        self.others = []

    def write(self, writer):
        number = writer
        while not self.ended.is_set():
            started = time.monotonic()
            body = {"trajectory": example_trajectory(number)}
            answer = self.service.call("POST", PATH, self.key, json=body)
            if answer.status_code == 200:
                self.acknowledged.append((time.monotonic(), answer.json()["trajectory_id"]))
                number += WRITERS
            elif answer.status_code == 503:
                self.refusals.append((time.monotonic() - started, answer))
                time.sleep(0.05)
            else:
                self.others.append(answer)

    def acknowledged_since(self, moment):
        return sum(at > moment for at, _ in self.acknowledged)


def wait_until(true, seconds=60):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "not within the time"
        time.sleep(0.05)


def kill(server):
    root = psutil.Process(server.pid())
    family = [root, *root.children(recursive=True)]
    for process in family:
        process.kill()
    psutil.wait_procs(family, timeout=30)


def outage(server, load, seconds):
    """Kill the server once there is load, bring it back after `seconds`; return when that was."""
    wait_until(lambda: len(load.acknowledged) >= 5 * WRITERS)
    kill(server)
    time.sleep(seconds)
    assert load.refusals
    server.acquire()
    return time.monotonic()


@pytest.mark.parametrize("seconds", [2, pytest.param(30, marks=pytest.mark.cluster)])
def test_killed_database(own_server, tmp_path, seconds):
    database = Database.open(fresh_database(own_server, tmp_path))
    with local_service(database) as service, ThreadPoolExecutor(WRITERS) as pool:
        key = service.mint("write", "read", calls_per_minute=1_000_000)
        load = Load(service, key)
        writers = [pool.submit(load.write, writer) for writer in range(WRITERS)]
        try:
            back = outage(own_server, load, seconds)
            assert service.call("GET", "/healthz").status_code == 200
            wait_until(lambda: load.acknowledged_since(back) >= 5 * WRITERS)
        finally:
            load.ended.set()
        assert [writer.result() for writer in writers] == [None] * WRITERS
        assert service.call("GET", "/readyz").status_code == 200
    assert not [answer.text for answer in load.others]
    check_refusals(load.refusals)
    check_nothing_lost(database, load)
    database.close()


def check_refusals(refusals):
    for took, answer in refusals:
        error = ErrorEnvelope.model_validate_json(answer.content).error
        assert error.code == "unavailable"
        assert int(answer.headers["retry-after"]) >= 1
        assert took < 12, "a refusal keeps nobody waiting"


def check_nothing_lost(database, load):
    ledger, events, after = PostgresLedger(database), [], 0
    while page := ledger.read(after):
        events += page
        after = page[-1].position
    stored = [event.payload["trajectory_id"] for event in events]
    assert len(stored) == len(set(stored)), "written twice"
    assert {identity for _, identity in load.acknowledged} <= set(stored), "acknowledged, but lost"
    assert [event.position for event in events] == list(range(1, len(events) + 1))
