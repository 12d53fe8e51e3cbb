"""Recorded episodes of real agents as pre-population D_0: replayed in our engine, or refused.

A recording enters only if it succeeded, belongs to a game of the train split that is on disk, can
be translated, and wins again when its commands are carried out; stored are the engine's answers.
Whether a game is a train game is decided by the game store, never by what the recording says. A
recording of a train game that does not say which is tried on the games with its goal and room.
"""

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from collegium.core import CorruptDataError, InvalidInputError, NotFoundError, Task, Trajectory
from collegium.environments.household.engine import Household
from collegium.environments.household.game import Game
from collegium.environments.household.goals import parse_goal
from collegium.environments.household.store import GameStore
from collegium.environments.household.translate import translate_action
from collegium.experience.replay import replay

_ENTITY = re.compile(r"\ba ([a-z]+ \d+)")


class Outcome(StrEnum):
    """What became of a recording."""

    ACCEPTED = "accepted"
    """It won again and is in."""
    FAILED = "failed"
    """The agent had failed."""
    NOT_TRAIN = "not_train"
    """It is of a game that must stay out of the memory."""
    UNKNOWN_GAME = "unknown_game"
    """It cannot be told which game it is of, or that game is not on disk."""
    UNTRANSLATABLE = "untranslatable"
    """An action is no household command, e.g. a piece of code."""
    NOT_WON = "not_won"
    """Its commands do not win the game in our engine."""


class RecordedStep(BaseModel):
    """One action as it was recorded."""

    model_config = ConfigDict(frozen=True)

    action: str
    kind: str


class Recording(BaseModel):
    """One line of a recordings file; other fields are ignored."""

    model_config = ConfigDict(frozen=True)

    source: str
    agent: str
    split: str | None
    task_id: str | None
    goal: str
    initial_observation: str
    success: bool
    steps: tuple[RecordedStep, ...]


class Imported(NamedTuple):
    """What an import brought, and what became of each recording by source."""

    trajectories: list[Trajectory]
    outcomes: dict[str, dict[Outcome, int]]
    """Source -> outcome -> recordings."""


class Importer:
    """Turns recordings into trajectories of the train games in `store`."""

    def __init__(self, store: GameStore, split: str = "train") -> None:
        """Look up the games of the train split; raises NotFoundError when there are none."""
        self._store = store
        self._split = split
        self._train = {task.task_id: task for task in store.tasks(split)}

    def load(self, recordings: Iterable[Recording]) -> Imported:
        """Import what can be used, in order, and count what became of the rest."""
        trajectories: list[Trajectory] = []
        counts: dict[str, Counter[Outcome]] = {}
        for recording in recordings:
            result = self._load_one(recording)
            outcome = result if isinstance(result, Outcome) else Outcome.ACCEPTED
            counts.setdefault(recording.source, Counter())[outcome] += 1
            if isinstance(result, Trajectory):
                trajectories.append(result)
        return Imported(trajectories, {source: dict(c) for source, c in sorted(counts.items())})

    def _load_one(self, recording: Recording) -> Trajectory | Outcome:
        if self._is_foreign(recording):
            return Outcome.NOT_TRAIN
        if not recording.success:
            return Outcome.FAILED
        games = self._games(recording)
        if not games:
            return Outcome.UNKNOWN_GAME
        commands = _commands(recording)
        if commands is None:
            return Outcome.UNTRANSLATABLE
        for game in games:
            trajectory = replay(Household(game), commands, recording.agent)
            if trajectory.success:
                return trajectory
        return Outcome.NOT_WON

    def _is_foreign(self, recording: Recording) -> bool:
        if recording.task_id is not None:
            return recording.task_id not in self._train
        return recording.split not in (self._split, None)

    def _games(self, recording: Recording) -> list[Game]:
        """Return the train games that the recording may be of, by id."""
        if recording.task_id is not None:
            return [self._store.load(self._train[recording.task_id])]
        if recording.split != self._split:
            return []
        games = [self._store.load(task) for task in self._tasks_with(recording.goal)]
        room = _entities(recording.initial_observation)
        return [
            game
            for game in games
            if game.task.goal == recording.goal
            and _entities(Household(game).reset().observation) == room
        ]

    def _tasks_with(self, goal_text: str) -> Iterator[Task]:
        """Yield the train tasks whose name has the goal's type, object and destination."""
        try:
            goal = parse_goal(goal_text)
        except InvalidInputError:
            return
        for task in self._train.values():
            kind, thing, _, place, _ = task.task_id.partition("/")[0].lower().split("-")
            if (kind, thing, place) == (goal.task_type, goal.object, goal.destination):
                yield task


def read_recordings(file: Path) -> Iterator[Recording]:
    """Yield the recordings of a gzipped JSONL file.

    Raises:
        NotFoundError: There is no such file.
        CorruptDataError: A line is no recording; the message names it.
    """
    if not file.is_file():
        raise NotFoundError(f"no recordings at {file}: expected a .jsonl.gz file")
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from (_parse(line, number) for number, line in enumerate(lines, start=1))
    except (ValueError, OSError, EOFError) as error:
        raise CorruptDataError(f"{file}: {error}; fetch the file again") from error


def _parse(line: str, number: int) -> Recording:
    try:
        return Recording.model_validate_json(line)
    except ValidationError as error:
        raise ValueError(f"line {number} is no recording: {error}") from error


def _commands(recording: Recording) -> list[str] | None:
    translated = [
        translate_action(step.action) if step.kind == "command" else None
        for step in recording.steps
    ]
    commands = [command for command in translated if command is not None]
    return commands if len(commands) == len(translated) else None


def _entities(observation: str) -> frozenset[str]:
    return frozenset(_ENTITY.findall(observation))
