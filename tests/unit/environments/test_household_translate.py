"""The older grammar: its commands do in the current engine what they did in theirs."""

import gzip
import json
from pathlib import Path

import pytest
from household_kitchen import kitchen
from hypothesis import given, settings
from hypothesis import strategies as st

from collegium.environments.household import Grammar, Household, translate_action

GAME = kitchen()


@settings(deadline=None)
@given(choices=st.lists(st.integers(min_value=0, max_value=10**6), max_size=60))
def test_translated_episodes_equal_the_current_ones(choices: list[int]) -> None:
    old, current = Household(GAME, Grammar.OLD), Household(GAME)
    turn = old.reset()
    for choice in choices:
        action = turn.admissible[choice % len(turn.admissible)]
        turn = old.step(action)
        translated = translate_action(action)
        assert translated is not None
        answer = current.step(translated)
        assert (answer.won, answer.score) == (turn.won, turn.score)
        assert [c for c in answer.admissible if c != "help"] == sorted(
            map(str, map(translate_action, turn.admissible))
        )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "go banana",
        'goto("desk 1")',
        "think: now put it in/on desk 1",
        "move apple to desk 1",
        "put apple 1 in desk 1",
        "put apple in/on desk",
        "take apple 1",
        "go to desk",
        "look around",
        "Open desk 1",
        "go to desk 1\nlook",
    ],
)
def test_anything_but_a_command_is_refused(text: str) -> None:
    assert translate_action(text) is None


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (" go to desk 1\n", "go to desk 1"),
        ("put mug 1 in/on desk 1", "move mug 1 to desk 1"),
        ("move mug 1 to desk 1", "move mug 1 to desk 1"),
        ("help", "help"),
    ],
)
def test_commands_of_both_grammars_are_read(text: str, command: str) -> None:
    assert translate_action(text) == command


def test_human_demonstrations_are_translated_whole(shared_data: Path) -> None:
    path = shared_data / "alfworld" / "trajectories.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["source"] == "ReAct prompts"]
    actions = [step["action"] for row in rows for step in row["steps"] if step["observation"]]
    assert len(actions) > 150
    assert all(map(translate_action, actions))
