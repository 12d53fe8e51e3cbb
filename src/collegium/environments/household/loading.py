"""Loads games from files or text, and refuses what does not hold together."""

import json
from pathlib import Path
from typing import Literal

from collegium.core import NotFoundError, Task
from collegium.environments.household.building import build_house, initial_state
from collegium.environments.household.engine import Household
from collegium.environments.household.formats import corrupt, open_envelope
from collegium.environments.household.game import Game
from collegium.environments.household.problem import parse_problem
from collegium.environments.household.winning import ground

GAME_FILE = "game.tw-pddl"
_TRAJECTORY_FILE = "traj_data.json"


def load_game(path: Path) -> Game:
    """Load the game file at `<split>/<task>/<trial>/game.tw-pddl`.

    `traj_data.json` beside it, where there is one, must name the same task type.

    Raises:
        NotFoundError: If there is no such file.
        CorruptDataError: If it is truncated, altered or of an unknown domain or grammar; the
            message names file and place.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: no such game file; check the game's id") from error
    trial, split = path.parent, path.parent.parent.parent
    game = load_game_text(
        data, f"{trial.parent.name}/{trial.name}", split=split.name, source=str(path)
    )
    _check_task_type(path.with_name(_TRAJECTORY_FILE), game.task.task_type)
    return game


def load_game_text(
    text: str | bytes, task_id: str, *, split: str = "generated", source: str = ""
) -> Game:
    """Load a game from the content of a game file.

    Args:
        text: The JSON of the game; its walkthrough must win exactly at its last command.
        task_id: `<task>/<trial>`.
        split: The split that the task belongs to.
        source: What errors call the text; the task id by default.

    Raises:
        CorruptDataError: As `load_game`.
    """
    source = source or task_id
    data = text.encode() if isinstance(text, str) else text
    envelope = open_envelope(data, source)
    origin: Literal["official", "generated"] = "generated" if envelope.by_digest else "official"
    game = parse_game(
        envelope.problem,
        envelope.goal,
        task_id,
        split=split,
        walkthrough=envelope.walkthrough,
        digest=envelope.digest,
        origin=origin,
        source=source,
    )
    _check_walkthrough(game, source)
    return game


def parse_game(
    problem_text: str,
    goal: str,
    task_id: str,
    *,
    split: str = "generated",
    walkthrough: tuple[str, ...] = (),
    digest: str = "",
    origin: Literal["official", "generated"] = "generated",
    source: str = "",
) -> Game:
    """Compile a game from its PDDL problem; the walkthrough is not played.

    Args:
        problem_text: The PDDL problem, laid out as in official games.
        goal: The task line, e.g. `put a hot cup in cabinet.`
        task_id: `<task>/<trial>`.
        split: The split that the task belongs to.
        walkthrough: Commands that win.
        digest: Digest of the game file, if there is one.
        origin: Whether the game is an official one or generated.
        source: What errors call the text; the task id by default.

    Raises:
        CorruptDataError: If the problem is not laid out like ALFWorld's, or contradicts itself.
    """
    source = source or task_id
    problem = parse_problem(problem_text, source)
    house = build_house(problem, source)
    return Game(
        task=Task(
            environment="household",
            task_id=task_id,
            task_type=problem.goal.task_type.value,
            split=split,
            goal=goal,
            source=origin,
        ),
        walkthrough=walkthrough,
        digest=digest,
        house=house,
        start=initial_state(problem, house),
        goal=problem.goal,
        win=ground(problem.goal, house),
    )


def _check_walkthrough(game: Game, source: str) -> None:
    """Play the walkthrough; a changed fact, goal or command shows here if nowhere else."""
    household = Household(game)
    last = len(game.walkthrough) - 1
    won = False
    for index, command in enumerate(game.walkthrough):
        won = household.step(command).won
        if won and index < last:
            corrupt(source, f"key walkthrough, command {index + 1}", "wins before the end")
    if not won:
        corrupt(source, "key walkthrough", "does not win the game")


def _check_task_type(path: Path, task_type: str) -> None:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return
    try:
        recorded = json.loads(text)["task_type"]
    except (ValueError, KeyError, TypeError) as error:
        corrupt(str(path), "key task_type", f"unreadable ({error})")
    if recorded != task_type:
        corrupt(str(path), "key task_type", f"says {recorded}, but the game is {task_type}")
