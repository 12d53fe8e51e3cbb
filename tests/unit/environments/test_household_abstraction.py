"""Guidance is told in the consumer's terms, and followed if the deeds agree."""

import pytest

from collegium.core import Chunk, ChunkStep
from collegium.environments.household.abstraction import correspondence, follows, hint

MUG = "put a hot mug in cabinet."
APPLE = "put a hot apple in fridge."


def chunk(goal, *actions):
    return Chunk(
        chunk_id="c",
        trajectory_id="t",
        producer="p",
        environment="household",
        task_id="x",
        task_type="pick_heat_then_place_in_recep",
        goal=goal,
        state="",
        context="",
        progress=0,
        total_steps=len(actions),
        steps=tuple(ChunkStep(action=a, observation="") for a in actions),
        grammar="alfworld-0.4",
    )


def test_a_hint_is_told_for_the_present_goal_and_without_numbers():
    told = hint(chunk(MUG, "heat mug 2 with microwave 1", "go to cabinet 7"), APPLE)
    assert told == "put a hot apple in fridge: heat apple with microwave, go to fridge"


def test_a_lamp_is_never_exchanged_for_a_receptacle():
    assert correspondence("look at book under the desklamp.", APPLE) == {"book": "apple"}


def test_goals_that_cannot_be_read_change_nothing():
    assert correspondence("win the game", APPLE) == {}


@pytest.mark.parametrize(
    ("action", "suggested", "followed"),
    [
        ("heat apple 1 with microwave 1", "heat mug 3 with microwave 1", True),
        ("go to fridge 1", "go to cabinet 4", True),
        ("go to countertop 1", "go to cabinet 4", False),
    ],
)
def test_following_compares_deeds_not_numbers(action, suggested, followed):
    assert follows(action, suggested, goal=APPLE, suggested_goal=MUG) is followed


def test_text_of_other_agents_stays_on_one_line():
    assert "\n" not in hint(chunk("put\nevil", "go to\nfridge 1"), APPLE)
