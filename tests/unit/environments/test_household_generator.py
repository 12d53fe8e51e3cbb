import json
from collections import Counter
from pathlib import Path

import pytest

from collegium.core.errors import InvalidInputError
from collegium.environments.household import Household, load_game_text
from collegium.environments.household.explorer import Explorer
from collegium.environments.household.generator import SPLITS, generate_game, write_games
from collegium.environments.household.goals import TaskType, parse_goal
from collegium.environments.household.store import GameStore

KINDS = [(seed, list(TaskType)[seed % 6]) for seed in range(200)]


def steps_of_explorer(household: Household, limit: int = 50) -> int:
    turn = household.reset()
    explorer = Explorer(household.task.goal, turn.observation, seed=0)
    for step in range(limit):
        if turn.won:
            return step
        turn = household.step(explorer.act(turn.observation, turn.admissible))
    return limit


def test_two_hundred_games_are_solvable_and_as_hard_as_they_say() -> None:
    """Loading plays the walkthrough, which must win exactly at its last command."""
    solved = 0
    for seed, task_type in KINDS:
        game = load_game_text(generate_game(seed, task_type), f"{task_type}/{seed}")
        assert game.task.source == "generated"
        assert game.task.task_type == parse_goal(game.task.goal).task_type == task_type
        assert 3 <= len(game.walkthrough) <= 12
        household = Household(game)
        assert not household.reset().won
        solved += steps_of_explorer(household) <= 30
    assert solved >= 190


def test_rooms_look_like_rooms() -> None:
    kitchens = [generate_game(seed, TaskType.COOL, "kitchen") for seed in range(5)]
    for text in kitchens:
        kinds = Counter(r.kind for r in load_game_text(text, "t/1").house.receptacles)
        assert kinds["fridge"] == 1
        assert kinds["bed"] == 0
        assert sum(kinds.values()) >= 15
    for room, sign in (("bedroom", "bed"), ("livingroom", "sofa"), ("bathroom", "toilet")):
        game = load_game_text(generate_game(3, TaskType.PICK_TWO, room), "t/1")
        assert sign in {r.kind for r in game.house.receptacles}


def test_equal_arguments_give_equal_bytes() -> None:
    assert generate_game(4, TaskType.HEAT) == generate_game(4, TaskType.HEAT)
    assert generate_game(4, TaskType.HEAT) != generate_game(5, TaskType.HEAT)


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="unknown task type"):
        generate_game(0, "juggle")
    with pytest.raises(InvalidInputError, match="rooms that have"):
        generate_game(0, TaskType.HEAT, "bathroom")


def test_games_are_written_in_the_official_layout(tmp_path: Path) -> None:
    paths = write_games(tmp_path, count=6, seed=1)
    assert len({path.read_bytes() for path in paths}) == 12
    store = GameStore(tmp_path)
    for split in SPLITS:
        games = [store.load(task) for task in store.tasks(split)]
        assert sorted(game.task.task_type for game in games) == sorted(TaskType)
        assert {(game.task.split, game.task.source) for game in games} == {(split, "generated")}
    trajectory = json.loads(paths[0].with_name("traj_data.json").read_text())
    assert trajectory["source"] == "generated"
    again = write_games(tmp_path / "again", count=6, seed=1)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in paths]


def test_generated_games_stay_out_of_official_splits(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="valid_unseen"):
        write_games(tmp_path, count=1, seed=1, splits=("valid_unseen",))
