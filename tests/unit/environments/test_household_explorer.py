import tarfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collegium.core.errors import InvalidInputError
from collegium.environments.household import Game, Household, load_game_text
from collegium.environments.household.explorer import Explorer
from collegium.environments.household.generator import generate_game
from collegium.environments.household.goals import TaskType
from collegium.environments.household.sightings import Sightings

ARCHIVE = Path(__file__).parents[4] / "shared" / "data" / "alfworld" / "games_valid_unseen.tar.xz"
ROOM = (
    "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly "
    "around you, you see a cabinet 2, a cabinet 1, a countertop 1, a fridge 1, a microwave 1, "
    "and a sinkbasin 1.\n\nYour task is to: {goal}"
)
NAMES = ("cabinet 1", "cabinet 2", "countertop 1", "fridge 1", "microwave 1", "sinkbasin 1")
IDLE = ("help", "inventory", "look")


def commands(here: str | None, *more: str) -> tuple[str, ...]:
    near = (f"examine {here}",) if here else ()
    return tuple(sorted([*IDLE, *near, *(f"go to {n}" for n in NAMES if n != here), *more]))


def start(goal: str, seed: int = 0, noise: float = 0.0) -> tuple[Explorer, str]:
    observation = ROOM.format(goal=goal)
    explorer = Explorer(goal, observation, seed, noise)
    return explorer, explorer.act(observation, commands(None))


def test_sightings_follow_an_episode_by_its_text() -> None:
    seen = Sightings(ROOM.format(goal="put a apple in fridge."))
    assert seen.receptacles == NAMES
    seen.update(
        "You arrive at cabinet 1. The cabinet 1 is closed.", commands("cabinet 1", "open cabinet 1")
    )
    assert seen.closed == {"cabinet 1"}
    assert not seen.is_searched("cabinet 1")
    seen.update(
        "You open the cabinet 1. The cabinet 1 is open. In it, you see a apple 2, and a cup 1.",
        commands(
            "cabinet 1",
            "close cabinet 1",
            "take apple 2 from cabinet 1",
            "take cup 1 from cabinet 1",
        ),
    )
    assert seen.places("apple") == (("apple 2", "cabinet 1"),)
    seen.update(
        "You pick up the apple 2 from the cabinet 1.", commands("cabinet 1", "close cabinet 1")
    )
    assert (seen.held, seen.places("apple")) == ("apple 2", ())
    seen.update("You heat the apple 2 using the microwave 1.", commands("microwave 1"))
    assert seen.is_treated("apple 2", "heat")
    seen.update("You cool the apple 2 using the fridge 1.", commands("fridge 1"))
    assert not seen.is_treated("apple 2", "heat")
    seen.update("Nothing happens.", commands("fridge 1"))
    assert seen.is_treated("apple 2", "cool")
    seen.update("You move the apple 2 to the fridge 1.", commands("fridge 1", "close fridge 1"))
    assert seen.inside("fridge 1", "apple") == ("apple 2",)
    assert seen.held is None


def test_a_hot_bread_is_fetched_heated_and_put_away() -> None:
    explorer, first = start("put a hot bread in countertop.")
    assert first == "go to countertop 1"
    held = "examine bread 1"
    at_microwave = commands("microwave 1", held, "heat bread 1 with microwave 1")
    at_countertop = commands("countertop 1", held, "move bread 1 to countertop 1")
    turns = [
        (
            "You arrive at countertop 1. On the countertop 1, you see a cup 1, and a bread 1.",
            commands("countertop 1", "take bread 1 from countertop 1"),
        ),
        ("You pick up the bread 1 from the countertop 1.", at_countertop),
        ("You arrive at microwave 1. The microwave 1 is closed.", at_microwave),
        ("You heat the bread 1 using the microwave 1.", at_microwave),
        ("You arrive at countertop 1. On the countertop 1, you see a cup 1.", at_countertop),
    ]
    assert [explorer.act(*turn) for turn in turns] == [
        "take bread 1 from countertop 1",
        "go to microwave 1",
        "heat bread 1 with microwave 1",
        "go to countertop 1",
        "move bread 1 to countertop 1",
    ]


def test_a_wrong_object_in_hand_is_put_back() -> None:
    explorer, _ = start("put a apple in fridge.")
    action = explorer.act(
        "You pick up the cup 1 from the countertop 1.",
        commands("countertop 1", "examine cup 1", "move cup 1 to countertop 1"),
    )
    assert action == "move cup 1 to countertop 1"


def test_noise_strays_but_keeps_the_advice() -> None:
    calm, expected = start("put a apple in fridge.")
    assert calm.advice == expected
    strayed = 0
    for seed in range(20):
        explorer, action = start("put a apple in fridge.", seed, noise=1.0)
        assert explorer.advice == expected
        assert action == start("put a apple in fridge.", seed, noise=1.0)[1]
        strayed += action != expected
    assert strayed > 5


def test_an_unknown_goal_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        Explorer("sing a song.", ROOM, 0)


@pytest.mark.skipif(not ARCHIVE.exists(), reason="the official games are not on this machine")
@pytest.mark.parametrize(("noise", "least", "mean"), [(0.0, 132, 8.5), (0.2, 128, 12.0)])
def test_official_unseen_games_are_won_within_thirty_steps(
    noise: float, least: int, mean: float
) -> None:
    taken = [steps(game, noise) for game in official_games()]
    assert len(taken) == 134
    assert sum(n <= 30 for n in taken) >= least
    assert sum(min(n, 30) for n in taken) / len(taken) < mean


def official_games() -> Iterator[Game]:
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            if member.name.endswith("game.tw-pddl"):
                data = archive.extractfile(member)
                assert data is not None
                yield load_game_text(data.read(), member.name, split="valid_unseen")


def steps(game: Game, noise: float, limit: int = 60) -> int:
    household = Household(game)
    turn = household.reset()
    explorer = Explorer(game.task.goal, turn.observation, seed=0, noise=noise)
    for step in range(1, limit + 1):
        action = explorer.act(turn.observation, turn.admissible)
        assert {action, explorer.advice} <= set(turn.admissible)
        turn = household.step(action)
        if turn.won:
            return step
    return limit + 1


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 50), kind=st.sampled_from(TaskType), chaos=st.randoms(use_true_random=False)
)
def test_it_finishes_what_a_random_agent_began(seed: int, kind: TaskType, chaos: Random) -> None:
    household = Household(load_game_text(generate_game(seed, kind), "t/1"))
    fitting = {kind for r in household.game.house.receptacles for kind in r.accepts}
    turn = household.reset()
    explorer = Explorer(household.task.goal, turn.observation, seed=0)
    for _ in range(20):
        explorer.act(turn.observation, turn.admissible)
        able = [c for c in turn.admissible if not c.startswith("take ") or c.split()[1] in fitting]
        turn = household.step(chaos.choice(able))
    for _ in range(120):
        if turn.won:
            break
        turn = household.step(explorer.act(turn.observation, turn.admissible))
    assert turn.won
