"""Single rules of the engine, on a kitchen known by heart."""

import pytest
from household_kitchen import WALKTHROUGH, kitchen
from hypothesis import given, settings
from hypothesis import strategies as st

from collegium.environments.household import Grammar, Household

GAME = kitchen()
LIT = """
    (exists (?ot - object ?r - receptacle ?a - agent ?l - location)
        (and (objectType ?ot DeskLampType) (toggleable ?ot) (isToggled ?ot)
             (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r) ) )
    (exists (?o - object ?a - agent)
        (and (objectType ?o AppleType) (holds ?a ?o) ) )
"""
TWO = """
    (exists (?r - receptacle) (exists (?o1 - object)
        (and (objectType ?o1 AppleType) (receptacleType ?r FridgeType) (inReceptacle ?o1 ?r)
            (exists (?o2 - object)
                (and (not (= ?o1 ?o2)) (objectType ?o2 AppleType) (receptacleType ?r FridgeType)
                     (inReceptacle ?o2 ?r) ) ) ) ) )
"""
CLEAN = """
    (exists (?r - receptacle) (exists (?o - object)
        (and (cleanable ?o) (objectType ?o MugType) (receptacleType ?r SinkBasinType)
             (isClean ?o) (inReceptacle ?o ?r) ) ) )
"""


def play(household: Household, *commands: str) -> list[str]:
    return [household.step(command).observation for command in commands]


def test_first_observation_lists_the_room_in_id_order() -> None:
    turn = Household(GAME).reset()
    assert turn.observation == (
        "-= Welcome to TextWorld, ALFRED! =-\n\n"
        "You are in the middle of a room. Looking quickly around you, you see a cabinet 1, a"
        " countertop 1, a fridge 1, a microwave 1, and a sinkbasin 1.\n\n"
        "Your task is to: put some apple on fridge."
    )
    assert turn.admissible == (
        "go to cabinet 1",
        "go to countertop 1",
        "go to fridge 1",
        "go to microwave 1",
        "go to sinkbasin 1",
        "help",
        "inventory",
        "look",
    )
    assert (turn.done, turn.won, turn.score) == (False, False, 0.0)


def test_places_with_several_receptacles_are_one_step_away() -> None:
    household = Household(GAME)
    assert play(household, "look", "go to countertop 1", "look", "go to sinkbasin 1") == [
        "You are in the middle of a room. Looking quickly around you, you see nothing.",
        "You arrive at countertop 1. On the countertop 1, you see a apple 2, a knife 1, a mug 1,"
        " and a spoon 1.",
        "You are facing the countertop 1, and sinkbasin 1. Next to it, you see nothing.",
        "Nothing happens.",
    ]


def test_doors_open_and_close_once() -> None:
    household = Household(GAME)
    assert play(
        household,
        "go to cabinet 1",
        "close cabinet 1",
        "open cabinet 1",
        "open cabinet 1",
        "close cabinet 1",
        "examine cabinet 1",
    ) == [
        "You arrive at cabinet 1. The cabinet 1 is closed.",
        "Nothing happens.",
        "You open the cabinet 1. The cabinet 1 is open. In it, you see a apple 1, and a"
        " desklamp 1.",
        "Nothing happens.",
        "You close the cabinet 1.",
        "The cabinet 1 is closed.",
    ]


def test_a_thing_in_two_receptacles_leaves_only_the_one_it_is_taken_from() -> None:
    household = Household(GAME)
    household.step("go to countertop 1")
    turn = household.step("take mug 1 from countertop 1")
    assert turn.observation == "You pick up the mug 1 from the countertop 1."
    assert household.step("examine sinkbasin 1").observation.endswith("you see a mug 1.")
    assert "clean mug 1 with sinkbasin 1" in turn.admissible


def test_things_show_beside_the_receptacle_they_were_taken_from() -> None:
    household = Household(GAME)
    assert play(
        household,
        "go to countertop 1",
        "take spoon 1 from countertop 1",
        "move spoon 1 to sinkbasin 1",
        "look",
        "take spoon 1 from sinkbasin 1",
        "move spoon 1 to countertop 1",
        "look",
    )[3::3] == [
        "You are facing the countertop 1, and sinkbasin 1. Next to it, you see a spoon 1.",
        "You are facing the countertop 1, and sinkbasin 1. Next to it, you see a spoon 1.",
    ]


@pytest.mark.parametrize(
    ("treatments", "text"),
    [
        ((), "There's nothing special about apple 2."),
        (("cool",), "This is a cold apple 2."),
        (("heat",), "This is a hot apple 2."),
        (("cool", "heat"), "This is a hot apple 2."),
        (("heat", "cool"), "This is a cold apple 2."),
        (("clean",), "This is a clean apple 2."),
        (("clean", "heat"), "This is a hot and clean apple 2."),
        (("cool", "clean"), "This is a cool and clean apple 2."),
        (("slice",), "This is a sliced apple 2."),
        (("slice", "cool"), "This is a cool sliced apple 2."),
        (("slice", "heat"), "This is a hot sliced apple 2."),
        (("slice", "clean"), "This is a clean sliced apple 2."),
        (("slice", "clean", "heat"), "This is a hot and clean sliced apple 2."),
        (("slice", "clean", "cool"), "This is a cool and clean sliced apple 2."),
    ],
)
def test_examining_tells_what_was_done_to_a_thing(treatments: tuple[str, ...], text: str) -> None:
    household = Household(GAME)
    household.step("go to countertop 1")
    if "slice" in treatments:
        household.step("take knife 1 from countertop 1")
        assert household.step("slice apple 2 with knife 1").observation == (
            "You sliced the apple 2 with the knife 1."
        )
        household.step("move knife 1 to countertop 1")
    household.step("take apple 2 from countertop 1")
    for treatment in treatments:
        tool = {"cool": "fridge 1", "heat": "microwave 1", "clean": "sinkbasin 1"}.get(treatment)
        play(household, f"go to {tool}", f"{treatment} apple 2 with {tool}")
    assert household.step("examine apple 2").observation == text


def test_receptacle_objects_always_read_the_same() -> None:
    household = Household(GAME)
    household.step("go to countertop 1")
    play(household, "take mug 1 from sinkbasin 1", "clean mug 1 with sinkbasin 1")
    assert household.step("examine mug 1").observation == (
        "This is a normal mug 1. In it, you see nothing."
    )


def test_slicing_sees_through_closed_doors() -> None:
    household = Household(GAME)
    play(household, "go to countertop 1", "take knife 1 from countertop 1", "go to cabinet 1")
    assert household.step("slice apple 1 with knife 1").observation.startswith("You sliced")


def test_only_the_held_thing_can_be_examined() -> None:
    household = Household(GAME)
    turn = household.step("go to countertop 1")
    assert not [c for c in turn.admissible if c.startswith("examine apple")]
    assert household.step("examine apple 2").observation == "Nothing happens."


def test_lamps_turn_on_again_and_again() -> None:
    household = Household(kitchen(LIT))
    household.step("go to cabinet 1")
    assert (
        play(household, "use desklamp 1", "use desklamp 1") == ["You turn on the desklamp 1."] * 2
    )
    play(household, "open cabinet 1")
    assert household.step("take apple 1 from cabinet 1").won
    assert not household.step("go to fridge 1").won
    assert household.step("go to cabinet 1").won


def test_walkthrough_wins_at_its_last_command_and_winning_can_be_undone() -> None:
    household = Household(GAME)
    turns = [household.step(command) for command in WALKTHROUGH]
    assert [turn.won for turn in turns] == [False] * 4 + [True]
    assert (turns[-1].done, turns[-1].score) == (True, 1.0)
    assert not household.step("take apple 2 from fridge 1").won


def test_two_things_must_lie_in_one_receptacle() -> None:
    household = Household(kitchen(TWO))
    assert not [turn for turn in map(household.step, WALKTHROUGH) if turn.won]
    play(household, "go to cabinet 1", "open cabinet 1", "take apple 1 from cabinet 1")
    household.step("go to fridge 1")
    assert household.step("move apple 1 to fridge 1").won


def test_cleaning_wins_while_the_thing_is_still_in_its_other_receptacle() -> None:
    household = Household(kitchen(CLEAN))
    play(household, "go to countertop 1", "take mug 1 from countertop 1")
    assert household.step("clean mug 1 with sinkbasin 1").won


@pytest.mark.parametrize(
    "command",
    [
        "",
        "look around",
        "LOOK",
        "Go to cabinet 1",
        "go to  cabinet 1",
        "go cabinet 1",
        "go to",
        "goto cabinet 1",
        "go to countertop 1",
        "take",
        "take apple 2",
        "take apple 2 from",
        "take apple 2 from cabinet 1",
        "take apple 1 from countertop 1",
        "take window 1 from countertop 1",
        "move apple 2 to countertop 1",
        "put apple 2 in/on countertop 1",
        "clean apple 2 with sinkbasin 1",
        "slice apple 2 with knife 1",
        "use mug 1",
        "open countertop 1",
        "help me",
        "inventory please",
        "examine",
        "\x00",
        "take apple 2 from countertop 1 from countertop 1",
    ],
)
def test_inadmissible_commands_change_nothing(command: str) -> None:
    household = Household(GAME)
    before = household.step("go to countertop 1")
    assert household.step(command) == before._replace(observation="Nothing happens.")


def test_commands_are_stripped() -> None:
    household = Household(GAME)
    assert household.step("  inventory\t\n").observation == "You are not carrying anything."


def test_old_grammar_words_four_things_differently() -> None:
    household = Household(GAME, Grammar.OLD)
    turn = household.step("go to countertop 1")
    assert turn.observation.startswith("On the countertop 1, you see")
    assert "help" not in turn.admissible
    assert household.step("help").observation == "Nothing happens."
    turn = household.step("take apple 2 from countertop 1")
    assert turn.admissible == tuple(sorted(turn.admissible))
    assert household.step("move apple 2 to countertop 1").observation == "Nothing happens."
    assert household.step("put apple 2 in/on countertop 1").observation == (
        "You put the apple 2 in/on the countertop 1."
    )
    assert household.versions.grammar == "alfworld-0.3"


def walk(household: Household, choices: list[int]) -> list[tuple[str, str]]:
    turn = household.step("look")
    seen = []
    for choice in choices:
        turn = household.step(turn.admissible[choice % len(turn.admissible)])
        seen.append((turn.observation, household.state_hash()))
    return seen


CHOICES = st.lists(st.integers(min_value=0, max_value=10**6), max_size=40)


@settings(deadline=None)
@given(before=CHOICES, ours=CHOICES, theirs=CHOICES, grammar=st.sampled_from(Grammar))
def test_forks_are_independent(
    before: list[int], ours: list[int], theirs: list[int], grammar: Grammar
) -> None:
    household = Household(GAME, grammar)
    walk(household, before)
    fork = household.fork()
    assert fork.state_hash() == household.state_hash()
    expected = walk(household.fork(), ours)
    walk(fork, theirs)
    assert walk(household, ours) == expected


@settings(deadline=None)
@given(choices=CHOICES)
def test_replays_and_resets_give_the_same_turns(choices: list[int]) -> None:
    household = Household(GAME)
    first = walk(household, choices)
    household.reset()
    assert walk(household, choices) == first == walk(Household(GAME), choices)


@settings(deadline=None)
@given(one=CHOICES, other=CHOICES)
def test_state_hashes_are_equal_when_the_texts_are(one: list[int], other: list[int]) -> None:
    households = Household(GAME), Household(GAME)
    walk(households[0], one)
    walk(households[1], other)
    turns = [household.step("look") for household in households]
    hashes = [household.state_hash() for household in households]
    assert (hashes[0] == hashes[1]) == (turns[0][:2] == turns[1][:2])


@settings(deadline=None)
@given(choices=CHOICES, grammar=st.sampled_from(Grammar))
def test_exactly_the_admissible_commands_are_carried_out(
    choices: list[int], grammar: Grammar
) -> None:
    household = Household(GAME, grammar)
    walk(household, choices)
    turn = household.step("look")
    assert turn.admissible == tuple(sorted(set(turn.admissible)))
    for command in turn.admissible:
        assert household.fork().step(command).observation != "Nothing happens."


@settings(deadline=None)
@given(choices=CHOICES, command=st.text(max_size=40))
def test_any_text_is_answered(choices: list[int], command: str) -> None:
    household = Household(GAME)
    walk(household, choices)
    before = household.step("look")
    turn = household.step(command)
    if command.strip() not in before.admissible:
        assert turn == before._replace(observation="Nothing happens.")
