"""Writers that load a service while something of it is killed, and what must hold afterwards."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
from service_fixtures import example_trajectory

from collegium.service.errors import ErrorEnvelope
from collegium.store.embedded import EmbeddedServer
from collegium.store.ledger.postgres import PostgresLedger

PATH = "/v1/namespaces/demo/trajectories"
WRITERS = 4


class Load:
    """Writers that contribute one trajectory after another, each until it is acknowledged."""

    def __init__(self, post: Callable, first: int = 0):
        """`post(path, json)` sends one request; trajectories are numbered from `first`."""
        self.post = post
        self.first = first
        self.ended = threading.Event()
        self.acknowledged = []
        self.refusals = []
        self.others = []

    @contextmanager
    def running(self):
        """Load the service within the context."""
        with ThreadPoolExecutor(WRITERS) as pool:
            writers = [pool.submit(self._write, writer) for writer in range(WRITERS)]
            try:
                yield
            finally:
                self.ended.set()
        assert [writer.result() for writer in writers] == [None] * WRITERS

    def _write(self, writer):
        number = self.first + writer
        while not self.ended.is_set():
            started = time.monotonic()
            answer = self.post(PATH, {"trajectory": example_trajectory(number)})
            if answer.status_code == 200:
                self.acknowledged.append((time.monotonic(), answer.json()["trajectory_id"]))
                number += WRITERS
            elif answer.status_code == 503:
                self.refusals.append((time.monotonic() - started, answer))
                time.sleep(0.05)
            else:
                self.others.append(answer)

    def wait_for_more(self):
        """Wait until all is well: each writer was acknowledged some times from now on."""
        now = time.monotonic()
        wait_until(lambda: sum(at > now for at, _ in self.acknowledged) >= 5 * WRITERS)

    def check(self, database, within_s=12.0):
        """Check that refusals were as they should be, and that nothing acknowledged is lost."""
        assert not [answer.text for answer in self.others]
        for took, answer in self.refusals:
            error = ErrorEnvelope.model_validate_json(answer.content).error
            assert error.code == "unavailable"
            assert int(answer.headers["retry-after"]) >= 1
            assert took < within_s, "a refusal keeps nobody waiting"
        self._check_nothing_lost(database)

    def _check_nothing_lost(self, database):
        ledger, events, after = PostgresLedger(database), [], 0
        while page := ledger.read(after):
            events += page
            after = page[-1].position
        assert [event.position for event in events] == list(range(1, len(events) + 1))
        stored = [event.payload["trajectory_id"] for event in events]
        assert len(stored) == len(set(stored)), "written twice"
        lost = {identity for _, identity in self.acknowledged} - set(stored)
        assert not lost, "acknowledged, but lost"


def wait_until(true, seconds=60):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "not within the time"
        time.sleep(0.05)


def kill_server(server: EmbeddedServer):
    """Kill all processes of a database server at once, as a crash of the machine does."""
    root = psutil.Process(server.pid())
    family = [root, *root.children(recursive=True)]
    for process in family:
        process.kill()
    psutil.wait_procs(family, timeout=30)
