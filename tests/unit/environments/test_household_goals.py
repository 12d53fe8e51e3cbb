import contextlib
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.core.errors import InvalidInputError
from collegium.environments.household.goals import Goal, TaskType, parse_goal

TASKS = Path(__file__).parents[4] / "shared" / "data" / "alfworld" / "tasks.jsonl.gz"


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("put a cd in safe.", Goal(TaskType.PICK_AND_PLACE, "cd", "safe", 1)),
        (
            "put some spraybottle on toilet.",
            Goal(TaskType.PICK_AND_PLACE, "spraybottle", "toilet", 1),
        ),
        (
            "find some apple and put it in sidetable.",
            Goal(TaskType.PICK_AND_PLACE, "apple", "sidetable", 1),
        ),
        ("put two cd in safe.", Goal(TaskType.PICK_TWO, "cd", "safe", 2)),
        (
            "find two toiletpaper and put them in toilet.",
            Goal(TaskType.PICK_TWO, "toiletpaper", "toilet", 2),
        ),
        ("put a clean mug in desk.", Goal(TaskType.CLEAN, "mug", "desk", 1)),
        ("heat some egg and put it in fridge.", Goal(TaskType.HEAT, "egg", "fridge", 1)),
        ("put a hot egg in/on fridge", Goal(TaskType.HEAT, "egg", "fridge", 1)),
        (
            "Your task is to: put a cool pan in countertop.",
            Goal(TaskType.COOL, "pan", "countertop", 1),
        ),
        ("look at book under the desklamp.", Goal(TaskType.LOOK_AT, "book", "desklamp", 1)),
        ("examine the pen with the floorlamp.", Goal(TaskType.LOOK_AT, "pen", "floorlamp", 1)),
    ],
)
def test_wordings(text: str, goal: Goal) -> None:
    assert parse_goal(text) == goal


@pytest.mark.parametrize("text", ["", "put two", "win the game.", "put a hot in fridge and more"])
def test_other_sentences_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot read the goal"):
        parse_goal(text)


@given(st.text(max_size=80))
def test_any_text_is_a_goal_or_invalid_input(text: str) -> None:
    with contextlib.suppress(InvalidInputError):
        assert parse_goal(text).object.isalpha()


@pytest.mark.skipif(not TASKS.exists(), reason="the official task list is not on this machine")
def test_every_official_goal_agrees_with_its_task() -> None:
    with gzip.open(TASKS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    assert len(rows) == 4027
    for row in rows:
        goal = parse_goal(row["goal"])
        assert goal.task_type == row["task_type"]
        assert goal.object == row["object"].lower()
        assert goal.destination == row["target"].lower()
        assert goal.count == (2 if "two" in row["task_type"] else 1)
