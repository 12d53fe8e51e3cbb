"""Compact text: few words, one line, nothing an observation says can start a line of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.environments.household.compact import (
    compact_observation,
    compact_room,
    one_line,
    replace_words,
    without_numbers,
)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        (
            "You arrive at drawer 5. On the drawer 5, you see a cd 3, and a pen 2.",
            "cd 3, pen 2",
        ),
        ("You arrive at cabinet 4. The cabinet 4 is closed.", "closed"),
        ("The cabinet 4 is closed.", "closed"),
        ("You open the safe 1. The safe 1 is open. In it, you see nothing.", "nothing"),
        (
            "You open the fridge 1. The fridge 1 is open. In it, you see a egg 1.",
            "egg 1",
        ),
        ("You pick up the mug 1 from the shelf 2.", "taken"),
        ("You move the mug 1 to the shelf 2.", "moved"),
        ("You heat the mug 1 using the microwave 1.", "done"),
        ("You turn on the desklamp 1.", "on"),
        ("Nothing happens.", "no effect"),
        ("You are carrying: a mug 1.", "You are carrying: a mug 1."),
    ],
)
def test_observations_say_what_they_add(text, short):
    assert compact_observation(text) == short


def test_a_room_lists_each_type_with_its_highest_number():
    text = (
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly "
        "around you, you see a cabinet 10, a cabinet 2, and a sinkbasin 1.\n\nYour task is to: x."
    )
    assert compact_room(text) == "cabinet 10, sinkbasin 1"


@given(st.text())
def test_every_result_is_one_line(text):
    for short in (compact_observation(text), compact_room(text), one_line(text)):
        assert len(short.splitlines()) <= 1


def test_words_change_places_without_chasing_each_other():
    swapped = replace_words("put mug in sink, sinkbasin", {"mug": "sink", "sink": "mug"})
    assert swapped == "put sink in mug, sinkbasin"


def test_numbers_go():
    assert without_numbers("take mug 12 from shelf 1") == "take mug from shelf"
