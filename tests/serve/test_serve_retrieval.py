"""Replicas of the retrieval application are killed under load: what was acknowledged is kept.

Real processes, real HTTP. The one that fills the index is killed as well.
"""

import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import psutil
import pytest
from scratch_databases import scratch_folder
from service_fixtures import OPERATOR_CALL, example_trajectory
from test_serve_process import free_port

from collegium.embedding import HashConfig, build_embedder
from collegium.runtime.serve.configs import RetrievalArgs, ServeRetrievalConfig
from collegium.runtime.serve.local import serving
from collegium.service.keys.use_cases import MintInput, operator_keys
from collegium.service.retrieval import RetrievalSettings
from collegium.service.retrieval.library import Library
from collegium.store.database import Database
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.settings import DatabaseSettings

pytestmark = pytest.mark.cluster

BASE = "/v1/namespaces/demo"
WRITERS = 3
ASKERS = 2
STEPS = 2
BETWEEN_KILLS = 40


def mint(settings):
    given = {"scopes": ["read", "write"], "namespaces": None, "calls_per_minute": 10**6}
    with operator_keys(settings) as keys:
        return keys.mint(OPERATOR_CALL, MintInput.parse(given)).key


def replicas():
    own = psutil.Process(os.getpid()).children(recursive=True)
    return [p for p in own if "ServeReplica" in " ".join(p.cmdline())]


class Load:
    """Clients that try each call until it is acknowledged, and note what was."""

    def __init__(self, http):
        self.http = http
        self.ended = threading.Event()
        self.trajectories, self.retrievals, self.outcomes = [], [], []
        self.refused = Counter()

    def post(self, path, body):
        while not self.ended.is_set():
            try:
                answer = self.http.post(f"{BASE}/{path}", json=body)
            except httpx.TransportError as error:
                self.refused[type(error).__name__] += 1
                continue
            if answer.status_code == 200:
                return answer.json()
            self.refused[answer.status_code] += 1
            assert answer.status_code >= 500, answer.text
            time.sleep(0.05)
        return None

    def write(self, writer):
        number = writer
        while not self.ended.is_set():
            trajectory = {**example_trajectory(number), "producer": f"agent-{number}"}
            if entry := self.post("trajectories", {"trajectory": trajectory}):
                self.trajectories.append(entry["trajectory_id"])
            number += WRITERS

    def ask(self, asker):
        body = {
            "task": example_trajectory(-1)["task"],
            "state": {"grammar": "alfworld-0.4", "initial_observation": "You see a desk 1."},
            "consumer": f"asker-{asker}",
        }
        while not self.ended.is_set():
            made = self.post("retrieve", body)
            if made is None:
                return
            identity = made["decision"]["retrieval_id"]
            self.retrievals.append(identity)
            told = {"retrieval_id": identity, "success": True, "score": 1.0, "steps": 3}
            if self.post("outcomes", told):
                self.outcomes.append(identity)

    def wait_for(self, more):
        """Return once each kind was acknowledged `more` times more often."""
        kinds = (self.trajectories, self.retrievals, self.outcomes)
        wanted = [len(kind) + more for kind in kinds]
        deadline = time.monotonic() + 120
        while any(len(kind) < want for kind, want in zip(kinds, wanted, strict=True)):
            assert time.monotonic() < deadline, "no progress"
            time.sleep(0.1)


def kill_in_turns(load):
    """Kill each of the first processes under load, the next one once the service goes on."""
    load.wait_for(BETWEEN_KILLS)
    for victim in replicas():
        victim.kill()
        load.wait_for(BETWEEN_KILLS)


@pytest.mark.timeout(580)
def test_killed_replicas():
    with scratch_folder() as folder:
        settings = DatabaseSettings(data_dir=folder / "data")
        retrieval = RetrievalSettings(embedder=HashConfig(dimension=64))
        args = RetrievalArgs(database=settings, replicas=2, retrieval=retrieval)
        config = ServeRetrievalConfig(port=free_port(), service=args)
        with (
            serving(config) as address,
            httpx.Client(base_url=address, timeout=30) as http,
            ThreadPoolExecutor(WRITERS + ASKERS) as pool,
        ):
            http.headers["authorization"] = f"Bearer {mint(settings)}"
            load = Load(http)
            workers = [pool.submit(load.write, n) for n in range(WRITERS)]
            workers += [pool.submit(load.ask, n) for n in range(ASKERS)]
            try:
                assert len(replicas()) == 3, "two that answer, one that indexes"
                kill_in_turns(load)
            finally:
                load.ended.set()
            assert [worker.result() for worker in workers] == [None] * len(workers)
            with closing(Database.open(settings)) as database:
                ledger = PostgresLedger(database)
                told = check_ledger(ledger, load)
                wait_for_index(load, ledger.position())
                check_library(settings, ledger, retrieval, told)
            check_counts(load, told)
        print(
            f"acknowledged: {len(load.trajectories)} trajectories, {len(load.retrievals)} "
            f"retrievals, {len(load.outcomes)} outcomes; refused meanwhile: {dict(load.refused)}"
        )


def check_ledger(ledger, load):
    """Return the ids that the ledger holds by type of event."""
    told, after = {"trajectory": [], "retrieval": [], "outcome": []}, 0
    while events := ledger.read(after):
        for event in events:
            kind, _, _ = event.type.partition(".")
            payload = event.payload
            identity = payload.get("trajectory_id") or payload.get("retrieval_id")
            told[kind].append(identity or payload["decision"]["retrieval_id"])
        after = events[-1].position
    acknowledged = (load.trajectories, load.retrievals, load.outcomes)
    for ids, kept in zip(acknowledged, told.values(), strict=True):
        assert len(kept) == len(set(kept)), "written twice"
        assert set(ids) <= set(kept), "acknowledged, but lost"
    return told


def wait_for_index(load, position):
    load.ended.clear()
    body = {
        "task": example_trajectory(-1)["task"],
        "state": {"grammar": "alfworld-0.4", "initial_observation": "You see a desk 1."},
        "consumer": "checker",
    }
    deadline = time.monotonic() + 60
    while load.post("retrieve", body)["decision"]["as_of"] < position:
        assert time.monotonic() < deadline, "the index does not catch up"
        time.sleep(0.2)


def check_library(settings, ledger, retrieval, told):
    library = Library(
        settings.data_dir / "retrieval",
        ledger.identity(),
        build_embedder(retrieval.embedder),
        retrieval.memory,
    )
    library.refresh()
    found = Counter(c.trajectory_id for c in library.index("demo", "alfworld-0.4").chunks())
    assert found == dict.fromkeys(told["trajectory"], STEPS), "each chunk once"


def check_counts(load, told):
    producers = load.http.get(f"{BASE}/producers").json()["producers"]
    assert sum(producer["trajectories"] for producer in producers) == len(told["trajectory"])
    shown = sum(producer["outcomes"] for producer in producers)
    assert shown <= len(told["outcome"])
    assert shown > 0
