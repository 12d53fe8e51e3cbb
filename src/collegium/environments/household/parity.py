"""Records what TextWorld answers, as digests: `python -m collegium.environments.household.parity`.

One line a game, appended as soon as the game is done, so a stopped recording goes on where it was.
Games come in a seeded order over all official splits. Needs the extra `parity`, and minutes.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from collegium.core import CorruptDataError, Task, integer_seed
from collegium.environments.household.engine import Household
from collegium.environments.household.game import Game
from collegium.environments.household.oracle import ORACLE, Oracle
from collegium.environments.household.store import OFFICIAL_SPLITS, GameStore
from collegium.environments.household.walks import (
    RESET,
    EpisodeDigest,
    digest_episode,
    first_difference,
    plan_episode,
)

DEFAULT_GAMES = 420


class Recording(BaseModel):
    """What TextWorld answered in one episode."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    split: str
    game: str
    """Digest of the game file."""
    oracle: str
    seed: int
    episode: EpisodeDigest

    @property
    def task(self) -> Task:
        """The recorded task, as a store lists it."""
        return Task(
            environment="household",
            task_id=self.task_id,
            task_type=self.task_id.partition("-")[0],
            split=self.split,
        )


class Mismatch(BaseModel):
    """Where our engine answered otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    step: int
    """Index of the first differing record; 0 is the reset."""


def record(game: Game, path: Path, seed: int) -> Recording:
    """Play the episode of `game` in TextWorld.

    Raises:
        MissingDependencyError: If the extra `parity` is not installed.
    """
    oracle = Oracle(path)
    try:
        episode = digest_episode(oracle, plan_episode(game.task.task_id, game.walkthrough, seed))
    finally:
        oracle.close()
    return Recording(
        task_id=game.task.task_id,
        split=game.task.split,
        game=game.digest,
        oracle=ORACLE,
        seed=seed,
        episode=episode,
    )


def compare(recording: Recording, game: Game) -> Mismatch | None:
    """Play the same episode in our engine; return where it differs, or None.

    Raises:
        CorruptDataError: If `game` is not the file that was recorded.
    """
    if recording.game != game.digest:
        raise CorruptDataError(
            f"{recording.task_id}: the recording is of {recording.game}, the game file is"
            f" {game.digest}; restore the official file or record again with: make parity"
        )
    plan = plan_episode(recording.task_id, game.walkthrough, recording.seed)
    step = first_difference(digest_episode(Household(game), plan), recording.episode)
    return None if step is None else Mismatch(task_id=recording.task_id, step=step)


def compare_trace(records: Sequence[Sequence[Any]], game: Game) -> int | None:
    """Return the index of the first record of a full trace that our engine answers otherwise.

    Args:
        records: Command (`RESET` or what was typed), observation, admissible commands, won, done
            and score, step by step.
        game: The game they were recorded in.
    """
    household = Household(game)
    for index, (command, *answer) in enumerate(records):
        turn = household.reset() if command == RESET else household.step(command)
        ours = [turn.observation, list(turn.admissible), turn.won, turn.done, turn.score]
        if ours != answer:
            return index
    return None


def read_recordings(path: Path) -> list[Recording]:
    """Read recordings; a torn last line, of a recording that was killed, is left out.

    Raises:
        CorruptDataError: If any other line is unreadable.
    """
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    recordings = []
    for number, line in enumerate(lines, start=1):
        if not line.endswith("\n"):
            break
        try:
            recordings.append(Recording.model_validate_json(line))
        except ValidationError as error:
            raise CorruptDataError(f"{path}: line {number}: not a recording: {error}") from error
    return recordings


def extend(path: Path, store: GameStore, *, games: int, seed: int) -> Iterator[Recording]:
    """Record games until `path` holds `games` of them; yield each one when it is written."""
    done = read_recordings(path) if path.exists() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{r.model_dump_json()}\n" for r in done), encoding="utf-8")
    known = {recording.task_id for recording in done}
    for task in sample_tasks(store, seed)[:games]:
        if task.task_id in known:
            continue
        recording = record(store.load(task), store.path(task), seed)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{recording.model_dump_json()}\n")
        yield recording


def sample_tasks(store: GameStore, seed: int) -> list[Task]:
    """Return all official tasks in a seeded order, the three splits in turn."""
    orders = [
        sorted(store.tasks(split), key=lambda task: integer_seed(seed, task.task_id))
        for split in OFFICIAL_SPLITS
    ]
    length = max(map(len, orders))
    return [order[i] for i in range(length) for order in orders if i < len(order)]


def main() -> None:
    """Record from the command line and compare each game with our engine at once."""
    parser = argparse.ArgumentParser(description="Record digests of TextWorld's answers.")
    parser.add_argument("out", type=Path, help="the file of digests to extend")
    parser.add_argument("--games", type=int, default=DEFAULT_GAMES)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    store = GameStore()
    recordings = extend(arguments.out, store, games=arguments.games, seed=arguments.seed)
    for recording in recordings:
        mismatch = compare(recording, store.load(recording.task))
        print(recording.task_id, mismatch or "equal", flush=True)


if __name__ == "__main__":
    main()
