"""Bringing ALFWorld's games into place."""

import os
from pathlib import Path

from collegium.core import Record
from collegium.environments.household import unpack_games
from collegium.llm.models import cache_root


class Unpacked(Record):
    """Games now in place."""

    games: int
    root: str
    """What ALFWORLD_DATA has to name."""


def unpack_household(archives: Path, root: Path | None = None) -> Unpacked:
    """Unpack the archives `games_*.tar.xz` in the folder `archives`.

    Args:
        archives: Where they are.
        root: Where the games go: by default `ALFWORLD_DATA`, else a folder of the cache.

    Raises:
        NotFoundError: There is no such archive.
        CorruptDataError: An archive is damaged or holds anything but games.
    """
    named = os.environ.get("ALFWORLD_DATA")
    target = root or (Path(named) if named else cache_root() / "alfworld")
    target = target.expanduser().resolve()
    return Unpacked(games=unpack_games(archives, target), root=str(target))
