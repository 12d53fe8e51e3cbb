"""Data too large for the repository (tests skip where they are absent), and real databases."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from scratch_databases import fresh_database, scratch_server

from collegium.environments.household import unpack_games
from collegium.store.database import Database
from collegium.store.embedded import EmbeddedServer
from collegium.store.settings import DatabaseSettings


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """A command run in a test sends logs to that test's captured stream, which is closed later."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Directory with the public data sets."""
    named = os.environ.get("COLLEGIUM_SHARED_DATA")
    path = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"no data at {path}; set COLLEGIUM_SHARED_DATA")
    return path


@pytest.fixture(scope="session")
def alfworld_games(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root of all official games, in the layout of ALFWORLD_DATA."""
    root = tmp_path_factory.mktemp("alfworld")
    unpack_games(shared_data / "alfworld", root)
    return root


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedServer]:
    """The embedded server, started once."""
    with scratch_server() as server:
        yield server


@pytest.fixture
def database_settings(postgres: EmbeddedServer, tmp_path: Path) -> DatabaseSettings:
    """Settings of an empty database of the test's own."""
    return fresh_database(postgres, tmp_path / "keys")


@pytest.fixture
def database(database_settings: DatabaseSettings) -> Iterator[Database]:
    """A database of the test's own, with all tables."""
    opened = Database.open(database_settings)
    yield opened
    opened.close()
