"""The household games of a run: official ones, or generated into its own directory."""

import shutil
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path

from filelock import FileLock

from collegium.core import ConfigError, Task, content_id, generator
from collegium.environments.household import DOMAIN_DIGEST, ENGINE, GRAMMAR_DIGEST, GameStore
from collegium.environments.household.formats import sha256
from collegium.environments.household.generator import write_games
from collegium.runtime.jobs.configs import GamesConfig, GeneratedGames
from collegium.store import RunDirectory

_GAMES = "games"


def local_folder(run: RunDirectory, name: str) -> Path:
    """Return the folder `name` of a run directory; raises ConfigError if it is not on a disk."""
    if not run.on_disk:
        raise ConfigError(
            f"{run.path}: this job keeps `{name}/` beside its rows, so its run directory must be "
            "on a disk that all machines of the run share"
        )
    return Path(run.path.partition("://")[2] or run.path) / name


def open_games(config: GamesConfig, run: RunDirectory) -> GameStore:
    """Return the games that `config` names, after generating them if it says so.

    Which they are, and who decides what wins them, is noted in the run's attempt.

    Raises:
        NotFoundError: There is no such folder of games; the message says what to run.
    """
    store = _store(config, run)
    run.note_versions(
        game_data=_digest(config, store),
        grammar=GRAMMAR_DIGEST,
        rules=DOMAIN_DIGEST,
        evaluator=ENGINE,
    )
    return store


def select_tasks(config: GamesConfig, store: GameStore) -> list[Task]:
    """Return the tasks that `config` chooses from `store`, by id.

    Raises:
        NotFoundError: A split is not there.
    """
    tasks = [task for split in config.splits for task in store.tasks(split)]
    return spread(tasks, config.limit, config.seed)


def spread(tasks: Sequence[Task], limit: int | None, seed: int) -> list[Task]:
    """Return at most `limit` tasks, taken from the task types in turn, by id.

    A smaller limit gives a part of what a larger one gives.
    """
    if limit is None or limit >= len(tasks):
        return sorted(tasks, key=lambda task: task.task_id)
    by_type: dict[str, list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda task: task.task_id):
        by_type[task.task_type].append(task)
    shuffled = [_shuffled(by_type[kind], seed, kind) for kind in sorted(by_type)]
    in_turn = (task for task in chain(*zip_longest(*shuffled)) if task is not None)
    chosen = [task for task, _ in zip(in_turn, range(limit), strict=False)]
    return sorted(chosen, key=lambda task: task.task_id)


def _shuffled(tasks: Sequence[Task], seed: int, kind: str) -> list[Task]:
    order = generator(seed, "tasks", kind).permutation(len(tasks))
    return [tasks[i] for i in order]


def _digest(config: GamesConfig, store: GameStore) -> str:
    """Return one digest of all game files of the configured splits."""
    tasks = (task for split in config.splits for task in store.tasks(split))
    return content_id(
        [[task.split, task.task_id, sha256(store.path(task).read_bytes())] for task in tasks]
    )


def _store(config: GamesConfig, run: RunDirectory) -> GameStore:
    """Return the games; generated ones are made again for each attempt if the run is on no disk."""
    if config.generated is None:
        return GameStore(Path(config.root).expanduser() if config.root else None)
    if run.on_disk:
        return GameStore(_generate(config.generated, config.splits, local_folder(run, _GAMES)))
    folder = tempfile.mkdtemp()
    store = GameStore(_generate(config.generated, config.splits, Path(folder, _GAMES)))
    weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
    return store


def _generate(games: GeneratedGames, splits: Sequence[str], folder: Path) -> Path:
    """Return the folder with the games, which is there whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        if not folder.exists():
            unfinished = folder.with_name(f".{folder.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            write_games(unfinished, games.count, games.seed, splits)
            unfinished.rename(folder)
    return folder
