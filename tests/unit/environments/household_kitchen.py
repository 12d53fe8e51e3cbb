"""A kitchen small enough to know by heart, for tests of single rules."""

import json

from collegium.environments.household import DOMAIN_DIGEST, GRAMMAR_DIGEST, Game, parse_game

_OBJECTS = {
    "Apple_bar_1": "pickupable cleanable heatable coolable sliceable",
    "Apple_bar_2": "pickupable cleanable heatable coolable sliceable",
    "Knife_bar_1": "pickupable cleanable",
    "Mug_bar_1": "pickupable cleanable heatable coolable isReceptacleObject",
    "Spoon_bar_1": "pickupable cleanable",
    "DeskLamp_bar_1": "toggleable",
    "Window_bar_1": "",
}
_RECEPTACLES = {
    "CounterTop_bar_1": "loc_bar_1",
    "Sink_bar_1_bar_SinkBasin": "loc_bar_1",
    "Cabinet_bar_1": "loc_bar_2",
    "Microwave_bar_1": "loc_bar_3",
    "Fridge_bar_1": "loc_bar_4",
}
_OPENABLE = ("Cabinet_bar_1", "Microwave_bar_1", "Fridge_bar_1")
_INSIDE = {
    ("Apple_bar_1", "CounterTop_bar_1"),
    ("Apple_bar_2", "Cabinet_bar_1"),
    ("Knife_bar_1", "CounterTop_bar_1"),
    ("Mug_bar_1", "CounterTop_bar_1"),
    ("Mug_bar_1", "Sink_bar_1_bar_SinkBasin"),
    ("DeskLamp_bar_1", "Cabinet_bar_1"),
    ("Spoon_bar_1", "CounterTop_bar_1"),
}
_AT = {
    "Apple_bar_1": "loc_bar_1",
    "Apple_bar_2": "loc_bar_2",
    "Knife_bar_1": "loc_bar_1",
    "Mug_bar_1": "loc_bar_1",
    "Spoon_bar_1": "loc_bar_1",
    "DeskLamp_bar_1": "loc_bar_2",
    "Window_bar_1": "loc_bar_1",
}
PLACED = """
    (exists (?r - receptacle)
        (exists (?o - object)
            (and (inReceptacle ?o ?r) (objectType ?o AppleType) (receptacleType ?r FridgeType) ) ) )
"""
WALKTHROUGH = (
    "go to countertop 1",
    "take apple 2 from countertop 1",
    "go to fridge 1",
    "open fridge 1",
    "move apple 2 to fridge 1",
)


def problem_text(goal: str = PLACED) -> str:
    """Return the PDDL problem of the kitchen."""
    types = sorted({identifier.partition("_bar_")[0] + "Type" for identifier in _OBJECTS})
    rtypes = sorted({_receptacle_type(identifier) for identifier in _RECEPTACLES})
    locations = [f"loc_bar_{i}" for i in range(5)]
    declared = [("agent1", "agent"), *((i, "object") for i in _OBJECTS)]
    declared += [*((i, "otype") for i in types), *((i, "rtype") for i in rtypes)]
    declared += [*((i, "receptacle") for i in _RECEPTACLES), *((i, "location") for i in locations)]
    objects = "\n    ".join(f"{name} - {sort}" for name, sort in declared)
    facts = "\n    ".join(f"({fact})" for fact in _facts(types, rtypes))
    return (
        f"(define (problem kitchen)\n(:domain alfred)\n(:objects\n    {objects}\n    )\n"
        f"(:init\n    {facts}\n    )\n(:goal\n (and\n{goal}\n ) ) )\n"
    )


def kitchen(goal: str = PLACED) -> Game:
    """Return the kitchen as a game."""
    return parse_game(problem_text(goal), "put some apple on fridge.", "kitchen/trial")


def game_file(**changes: object) -> str:
    """Return the kitchen as the text of a game file with some keys changed."""
    fields: dict[str, object] = {
        "pddl_domain": DOMAIN_DIGEST,
        "grammar": {"digest": GRAMMAR_DIGEST, "task": "put some apple on fridge."},
        "pddl_problem": problem_text(),
        "solvable": True,
        "walkthrough": list(WALKTHROUGH),
    }
    return json.dumps(fields | changes)


def _receptacle_type(identifier: str) -> str:
    kind = identifier.partition("_bar_")[0]
    return f"{kind}{'Basin' if 'Basin' in identifier else ''}Type"


def _facts(types: list[str], rtypes: list[str]) -> list[str]:
    facts = ["atLocation agent1 loc_bar_0"]
    for identifier, properties in _OBJECTS.items():
        facts.append(f"objectType {identifier} {identifier.partition('_bar_')[0]}Type")
        facts += [f"{name} {identifier}" for name in properties.split()]
    facts += [f"objectAtLocation {thing} {place}" for thing, place in _AT.items()]
    facts += [f"receptacleType {r} {_receptacle_type(r)}" for r in _RECEPTACLES]
    facts += [f"receptacleAtLocation {r} {place}" for r, place in _RECEPTACLES.items()]
    facts += [f"openable {r}" for r in _OPENABLE]
    facts += [f"inReceptacle {thing} {receptacle}" for thing, receptacle in sorted(_INSIDE)]
    accepted = [t for t in types if t not in ("WindowType", "DeskLampType")]
    return facts + [f"canContain {rtype} {otype}" for rtype in rtypes for otype in accepted]
