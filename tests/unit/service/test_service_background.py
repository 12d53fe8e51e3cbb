"""What goes on beside answering: the ledger is signed, a killed database comes back."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from scratch_databases import scratch_folder
from service_fixtures import example_trajectory, local_service
from service_load import PATH, kill_server, wait_until

from collegium.core import SystemClock, UnavailableError
from collegium.service.background import Chore, chores_of, doing, revive, sign
from collegium.store.database import Database
from collegium.store.embedded import EmbeddedServer
from collegium.store.ledger.checkpoints import checkpoints, last_checkpoint
from collegium.store.ledger.signing import KeyFolder
from collegium.store.settings import DatabaseSettings


def signed_to(database):
    with database.connection() as connection:
        last = last_checkpoint(connection)
        return last.position if last else 0


def contribute(service, numbers):
    key = service.mint("write")
    for number in numbers:
        body = {"trajectory": example_trajectory(number)}
        assert service.call("POST", PATH, key, json=body).status_code == 200


def test_what_is_contributed_gets_signed(database):
    KeyFolder(database.settings.keys).key(create=True)
    with local_service(database, checkpoint_every_s=0.1) as service:
        contribute(service, (1, 2))
        wait_until(lambda: signed_to(database) == 2)
        contribute(service, (3,))
        wait_until(lambda: signed_to(database) == 3)


def test_nothing_is_signed_unasked(database):
    KeyFolder(database.settings.keys).key(create=True)
    with local_service(database) as service:
        contribute(service, (1,))
    assert [chore.name for chore in chores_of(database, SystemClock(), None)] == []
    assert signed_to(database) == 0


def test_a_replica_without_the_key_makes_none(database):
    """On a server that many share, the operator says where the key lies."""
    with local_service(database) as service:
        contribute(service, (1,))
    sign(database, SystemClock())
    assert not KeyFolder(database.settings.keys).has_key
    assert signed_to(database) == 0


def test_replicas_sign_one_at_a_time(database):
    KeyFolder(database.settings.keys).key(create=True)
    with local_service(database) as service, ThreadPoolExecutor(4) as pool:
        for number in range(5):
            contribute(service, (number,))
            for done in [pool.submit(sign, database, SystemClock()) for _ in range(4)]:
                done.result()
    with database.connection() as connection:
        rows = list(checkpoints(connection))
    assert [row["number"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["position"] for row in rows] == [1, 2, 3, 4, 5]


def test_a_chore_that_fails_is_tried_again(capsys):
    turns = []

    def act():
        turns.append(1)
        raise UnavailableError("away") if len(turns) == 1 else RuntimeError("broken")

    async def run():
        async with doing([Chore("example", 0.01, act)]):
            while len(turns) < 3:
                await anyio.sleep(0.01)

    anyio.run(run)
    told = capsys.readouterr().out
    assert "away" in told
    assert "broken" in told


def test_a_turn_under_way_is_finished():
    """It may hold a connection, which would never be given back."""
    started, finished = threading.Event(), threading.Event()

    def act():
        started.set()
        time.sleep(0.2)
        finished.set()

    async def run():
        async with doing([Chore("example", 0.0, act)]):
            while not started.is_set():
                await anyio.sleep(0.01)

    anyio.run(run)
    assert finished.is_set()


@pytest.fixture
def embedded():
    with scratch_folder() as folder:
        database = Database.open(DatabaseSettings(data_dir=folder))
        yield database, EmbeddedServer(folder)
        database.close()


def test_a_killed_database_is_brought_back(embedded):
    database, server = embedded
    with local_service(database) as service:
        contribute(service, (1,))
        kill_server(server)
        wait_until(lambda: service.call("GET", "/readyz").status_code == 200, 60)
        contribute(service, (2,))
    assert server.pid() is not None, "it has users still"


def test_a_stopped_database_stays_stopped(embedded):
    _, server = embedded
    server.stop()
    assert not server.was_killed
    revive(server)
    assert server.pid() is None


def test_the_ledger_of_an_embedded_database_is_signed_from_the_start(embedded):
    database, _ = embedded
    with local_service(database, checkpoint_every_s=0.1) as service:
        contribute(service, (1,))
        wait_until(lambda: signed_to(database) == 1)
    assert KeyFolder(database.settings.keys).has_key


def test_databases_of_others_are_not_revived(database):
    assert [c.name for c in chores_of(database, SystemClock(), 60)] == ["sign"]
