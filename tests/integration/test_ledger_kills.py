"""Real writers on a real server, some of them killed: what was acknowledged is there, once."""

import json
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
from scratch_databases import scratch_folder

from collegium.core import UnavailableError
from collegium.store.database import Database
from collegium.store.embedded import EmbeddedServer
from collegium.store.ledger.checkpoints import Checkpointer
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.verification import Verifier
from collegium.store.settings import DatabaseSettings

WRITER = Path(__file__).resolve().parents[1] / "support" / "ledger_writer.py"
WRITERS = 8
STREAMS = 5
pytestmark = pytest.mark.integration


class Follower:
    """Polls `position > n` and keeps everything that it sees, in the order it sees it."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.seen = []

    def poll(self):
        try:
            events = self.ledger.read(self.seen[-1].position if self.seen else 0)
        except UnavailableError:
            return
        self.seen += events

    def until(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain, at {len(self.seen)} events"
            self.poll()

    def drain(self):
        self.until(lambda: self.seen[-1].position == self.ledger.position())


@contextmanager
def writers(settings, folder):
    """Start eight writers on the same streams; gives the processes and the files of their notes."""
    files = [folder / f"acknowledged-{n}" for n in range(WRITERS)]
    given = json.dumps({"data_dir": str(settings.data_dir), "url": None})
    with ExitStack() as stack:
        processes = []
        for number, file in enumerate(files):
            command = [sys.executable, str(WRITER), given, str(number), str(STREAMS), str(file)]
            process = psutil.Popen(command)
            stack.callback(process.wait, 30)
            stack.callback(process.kill)
            processes.append(process)
        yield processes, files


def acknowledged(files):
    """Return what was acknowledged; the last line of a killed writer may be torn."""
    lines = [line for file in files for line in file.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def check(follower, files, database):
    """Nothing acknowledged is lost, doubled, or seen out of order."""
    events = {event.idempotency_key: event for event in follower.seen}
    assert [e.position for e in follower.seen] == list(range(1, len(follower.seen) + 1))
    assert len(events) == len(follower.seen)
    answered = acknowledged(files)
    for answer in answered:
        event = events[answer["key"]]
        assert (event.stream, event.position) == (answer["stream"], answer["position"])
    versions = Counter()
    numbers = Counter()
    for event in follower.seen:
        versions[event.stream] += 1
        assert event.version == versions[event.stream]
        writer = event.payload["writer"]
        assert event.payload["number"] > numbers[writer], "a writer's own events changed places"
        numbers[writer] = event.payload["number"]
    Checkpointer(database).run()
    verification = Verifier(database).run()
    assert verification.ok
    assert verification.vouched_to == len(follower.seen)
    return len(answered)


@pytest.fixture
def settings():
    with scratch_folder() as folder:
        yield DatabaseSettings(data_dir=folder)


def test_eight_writers_one_killed_and_a_reader_that_polls(settings, tmp_path):
    database = Database.open(settings)
    follower = Follower(PostgresLedger(database))
    with writers(settings, tmp_path) as (processes, files):
        follower.until(lambda: all(file.exists() and file.stat().st_size for file in files))
        follower.until(lambda: len(follower.seen) > 300)
        processes[3].kill()
        killed_at = len(follower.seen)
        follower.until(lambda: len(follower.seen) > killed_at + 600)
    follower.drain()
    assert check(follower, files, database) > 800
    writers_seen = {event.payload["writer"] for event in follower.seen[killed_at + 300 :]}
    assert writers_seen == set(range(WRITERS)) - {3}
    database.close()


def test_a_killed_server_loses_nothing_that_it_acknowledged(settings, tmp_path):
    database = Database.open(settings)
    follower = Follower(PostgresLedger(database))
    with writers(settings, tmp_path) as (_, files):
        follower.until(lambda: all(file.exists() and file.stat().st_size for file in files))
        for more in (200, 600):
            follower.until(lambda more=more: len(follower.seen) > more)
            kill_server(settings)
            with pytest.raises(UnavailableError, match="cannot be reached"):
                follower.ledger.position()
            again = EmbeddedServer(settings.data_dir)
            again.acquire()
            again.release()
        follower.until(lambda: len(follower.seen) > 1000)
    follower.drain()
    assert check(follower, files, database) > 900
    database.close()


def kill_server(settings):
    """Kill the server and all its helpers at once."""
    server = psutil.Process(EmbeddedServer(settings.data_dir).pid())
    family = [server, *server.children()]
    for process in family:
        process.kill()
    psutil.wait_procs(family, timeout=10)
