"""Data that is too large for the repository; tests that need it skip where it is absent."""

import os
from pathlib import Path

import pytest

from collegium.environments.household import unpack_games


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
