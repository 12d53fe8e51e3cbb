import pytest

from collegium.core.errors import InvalidInputError
from collegium.environments.household.census import load_census, room_of
from collegium.environments.household.explorer import Explorer
from collegium.environments.household.sightings import Sightings

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


def test_census_knows_where_things_are_kept() -> None:
    apple = load_census().rooms["kitchen"].objects["Apple"]
    assert apple.chance("Fridge") > 0.2 > apple.chance("Cabinet")
    assert load_census().games == 3553
    assert room_of(["Bed", "Desk"]) == "bedroom"
    assert room_of(["sofa"]) == "livingroom"


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
