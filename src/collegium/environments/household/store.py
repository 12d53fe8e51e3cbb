"""Game files on disk, in the layout of `ALFWORLD_DATA`, and the way they get there."""

import lzma
import os
import re
import tarfile
from pathlib import Path

from collegium.core import CorruptDataError, NotFoundError, Task
from collegium.environments.household.game import Game
from collegium.environments.household.goals import TaskType
from collegium.environments.household.loading import GAME_FILE, load_game

OFFICIAL_SPLITS = ("train", "valid_seen", "valid_unseen")
_LAYOUT = "json_2.1.1"
_MEMBER = re.compile(rf"{_LAYOUT}/\w+/[\w-]+/\w+/(?:game\.tw-pddl|traj_data\.json)")
_MEMBER_BYTES = 4_000_000
_REMEDY = "unpack the games with: collegium data household --from ARCHIVE_DIR"


class GameStore:
    """The games under one directory, `<root>/json_2.1.1/<split>/<task>/<trial>/game.tw-pddl`."""

    def __init__(self, root: Path | None = None) -> None:
        """Open the games under `root`, by default the environment variable `ALFWORLD_DATA`.

        Raises:
            NotFoundError: If there is no such directory; the message says what to run.
        """
        if root is None:
            named = os.environ.get("ALFWORLD_DATA")
            if not named:
                raise NotFoundError(f"ALFWORLD_DATA is not set; set it, or {_REMEDY}")
            root = Path(named).expanduser()
        self.root = root
        if not (root / _LAYOUT).is_dir():
            raise NotFoundError(f"{root}: holds no directory {_LAYOUT}; {_REMEDY}")

    def tasks(self, split: str) -> list[Task]:
        """Return the tasks of a split by id, read from directory names: their goals are empty.

        Raises:
            NotFoundError: If the split is not there or has no games; lists the known splits.
        """
        directory = self.root / _LAYOUT / split
        source = "official" if split in OFFICIAL_SPLITS else "generated"
        tasks = [
            Task(
                environment="household",
                task_id=f"{path.parent.parent.name}/{path.parent.name}",
                task_type=path.parent.parent.name.partition("-")[0],
                split=split,
                source=source,
            )
            for path in directory.glob(f"*/*/{GAME_FILE}")
            if _is_playable(path.parent.parent.name)
        ]
        if not tasks:
            known = sorted(p.name for p in (self.root / _LAYOUT).iterdir() if p.is_dir())
            raise NotFoundError(f"{directory}: no games; splits there: {known}; or {_REMEDY}")
        return sorted(tasks, key=lambda task: task.task_id)

    def path(self, task: Task) -> Path:
        """Return where the game file of `task` is, or would be."""
        return self.root / _LAYOUT / task.split / task.task_id / GAME_FILE

    def load(self, task: Task) -> Game:
        """Load the game of `task`; the game's own task has the goal.

        Raises:
            NotFoundError: If there is no such game.
            CorruptDataError: If its file is truncated, altered or of an unknown domain.
        """
        return load_game(self.path(task))


def unpack_games(archives: Path, root: Path) -> int:
    """Unpack all `games_*.tar.xz` in `archives` under `root`; return the number of games.

    Only members in the games' layout are written, so an archive cannot reach outside `root`.

    Raises:
        NotFoundError: If there is no such archive.
        CorruptDataError: If an archive is damaged or holds anything but games.
    """
    found = sorted(archives.glob("games_*.tar.xz"))
    if not found:
        raise NotFoundError(f"{archives}: no archives games_*.tar.xz; name the directory with them")
    root.mkdir(parents=True, exist_ok=True)
    return sum(_unpack(archive, root) for archive in found)


def _unpack(archive: Path, root: Path) -> int:
    games = 0
    try:
        with tarfile.open(archive, "r:xz") as members:
            for member in members:
                if member.isdir():
                    continue
                if not member.isreg() or not _MEMBER.fullmatch(member.name):
                    raise CorruptDataError(f"{archive}: {member.name}: not a game file; not used")
                if member.size > _MEMBER_BYTES:
                    raise CorruptDataError(f"{archive}: {member.name}: {member.size} bytes")
                members.extract(member, root, filter="data")
                games += member.name.endswith(GAME_FILE)
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise CorruptDataError(f"{archive}: damaged ({error}); fetch it again") from error
    return games


def _is_playable(task_name: str) -> bool:
    """Return whether ALFWorld plays tasks of that name: it leaves out movable and sliced ones."""
    return task_name.partition("-")[0] in set(TaskType) and "Sliced" not in task_name
