"""The database is killed under load: 503 with Retry-After, nothing acknowledged lost, no help."""

import time

import pytest
from scratch_databases import fresh_database, scratch_folder
from service_fixtures import local_service
from service_load import Load, kill_server

from collegium.store.database import Database
from collegium.store.embedded import EmbeddedServer


@pytest.fixture
def own_server():
    """A server as people have it, durable (that of the other tests is not), to be killed."""
    with scratch_folder() as folder:
        server = EmbeddedServer(folder)
        server.acquire()
        yield server
        server.release()


@pytest.mark.parametrize("seconds", [2, pytest.param(30, marks=pytest.mark.cluster)])
def test_killed_database(own_server, tmp_path, seconds):
    database = Database.open(fresh_database(own_server, tmp_path))
    with local_service(database) as service:
        key = service.mint("write", "read", calls_per_minute=1_000_000)
        load = Load(lambda path, body: service.call("POST", path, key, json=body))
        with load.running():
            load.wait_for_more()
            kill_server(own_server)
            time.sleep(seconds)
            assert load.refusals
            assert service.call("GET", "/healthz").status_code == 200
            own_server.acquire()
            load.wait_for_more()
        assert service.call("GET", "/readyz").status_code == 200
    load.check(database)
    database.close()
