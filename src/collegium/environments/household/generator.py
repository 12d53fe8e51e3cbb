"""Seeded, solvable household games in the format of the official ones, for demos and tests.

Furniture, objects and where they lie follow the census of the official train games; a plan with
full knowledge proves that each game can be won and becomes its walkthrough. The files name the
official domain and grammar by digest, which marks the games as generated: they are never part of
a measured result.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from collegium.core.errors import InvalidInputError
from collegium.core.seeds import generator, integer_seed
from collegium.environments.household.census import load_census
from collegium.environments.household.floorplan import FloorPlan, problem_text
from collegium.environments.household.formats import DOMAIN_DIGEST, GRAMMAR_DIGEST
from collegium.environments.household.furnishing import furnish
from collegium.environments.household.goals import TaskType
from collegium.environments.household.loading import parse_game
from collegium.environments.household.planner import plan
from collegium.environments.household.store import OFFICIAL_SPLITS

SPLITS = ("generated_train", "generated_test")
_WORDINGS = {
    TaskType.PICK_AND_PLACE: ("put a {0} in {1}.", "put some {0} on {1}."),
    TaskType.PICK_TWO: ("put two {0} in {1}.", "find two {0} and put them in {1}."),
    TaskType.LOOK_AT: ("look at {0} under the {1}.", "examine the {0} with the {1}."),
    TaskType.CLEAN: ("put a clean {0} in {1}.", "clean some {0} and put it in {1}."),
    TaskType.HEAT: ("put a hot {0} in {1}.", "heat some {0} and put it in {1}."),
    TaskType.COOL: ("put a cool {0} in {1}.", "cool some {0} and put it in {1}."),
}


def generate_game(seed: int, task_type: str, room: str | None = None) -> str:
    """Return the text of a game file; the same arguments give the same bytes.

    Args:
        seed: Any integer.
        task_type: One of the six task types, e.g. `pick_two_obj_and_place`.
        room: `kitchen`, `livingroom`, `bedroom` or `bathroom`; by default one where the train
            games have such tasks.

    Raises:
        InvalidInputError: If the task type is unknown, or the train games have no such task in
            the room.
    """
    return _game_text(_floor_plan(seed, _known(task_type), room), seed)


def write_games(
    root: Path, count: int, seed: int, splits: Sequence[str] = SPLITS
) -> tuple[Path, ...]:
    """Write `count` games per split in the layout of ALFWORLD_DATA and return the game files.

    The task types take turns. Game files lie at `json_2.1.1/<split>/<task>/<trial>/` below
    `root`, each with a `traj_data.json` whose `source` is "generated".

    Raises:
        InvalidInputError: If a split has the name of an official one.
    """
    if taken := set(splits) & set(OFFICIAL_SPLITS):
        raise InvalidInputError(
            f"generated games must not go into the official splits {sorted(taken)}; "
            f"name the splits otherwise, e.g. {SPLITS}"
        )
    return tuple(
        _write(root / "json_2.1.1" / split, integer_seed(seed, "game", split, i) % 10**9, i)
        for split in splits
        for i in range(count)
    )


def _write(folder: Path, seed: int, index: int) -> Path:
    task_type = list(TaskType)[index % len(TaskType)]
    floor_plan = _floor_plan(seed, task_type, None)
    room, kind, target = floor_plan.name.partition("_")[0], *floor_plan.goal
    path = folder / f"{task_type}-{kind}-None-{target}-{room}" / f"trial_G{index:05d}_{seed:09d}"
    path.mkdir(parents=True, exist_ok=True)
    trajectory = _trajectory(floor_plan, room, path.name)
    (path / "traj_data.json").write_text(trajectory + "\n", encoding="utf-8")
    game = path / "game.tw-pddl"
    game.write_text(_game_text(floor_plan, seed), encoding="utf-8")
    return game


def _trajectory(floor_plan: FloorPlan, room: str, trial: str) -> str:
    """Return the part of an official `traj_data.json` that describes the task."""
    kind, target = floor_plan.goal
    has_lamp = floor_plan.task_type is TaskType.LOOK_AT
    parameters = {
        "object_target": kind,
        "parent_target": "" if has_lamp else target,
        "toggle_target": target if has_lamp else "",
        "mrecep_target": "",
        "object_sliced": False,
    }
    return json.dumps(
        {
            "task_id": trial,
            "task_type": floor_plan.task_type,
            "pddl_params": parameters,
            "scene": {"floor_plan": room},
            "turk_annotations": {"anns": []},
            "source": "generated",
        }
    )


def _game_text(floor_plan: FloorPlan, seed: int) -> str:
    kind, target = (name.lower() for name in floor_plan.goal)
    goal = _WORDINGS[floor_plan.task_type][seed % 2].format(kind, target)
    problem = problem_text(floor_plan, load_census())
    walkthrough = plan(parse_game(problem, goal, floor_plan.name))
    game = {
        "pddl_domain": DOMAIN_DIGEST,
        "grammar": {"digest": GRAMMAR_DIGEST, "task": goal},
        "pddl_problem": problem,
        "solvable": True,
        "walkthrough": walkthrough,
    }
    return json.dumps(game) + "\n"


def _known(task_type: str) -> TaskType:
    try:
        return TaskType(task_type)
    except ValueError as error:
        known = ", ".join(TaskType)
        raise InvalidInputError(f"unknown task type {task_type!r}; known: {known}") from error


def _floor_plan(seed: int, task_type: TaskType, room: str | None) -> FloorPlan:
    census = load_census()
    rooms = [name for name, table in census.rooms.items() if task_type in table.goals]
    if room is not None and room not in rooms:
        raise InvalidInputError(f"no {task_type} games in {room!r}; rooms that have: {rooms}")
    rng = generator(seed, "household", task_type, room or "")
    room = room or rooms[int(rng.integers(len(rooms)))]
    return furnish(rng, census.rooms[room], task_type, f"{room}_{abs(seed)}")
