"""Builds the house and the initial state of a game from the facts of its problem."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from collegium.environments.household.formats import corrupt
from collegium.environments.household.house import House, Place, Receptacle, Thing, join_names
from collegium.environments.household.problem import Fact, Problem
from collegium.environments.household.state import State
from collegium.environments.household.winning import kind_of

_BLADES = frozenset({"knife", "butterknife"})
_BASINS = frozenset({"sink", "sinkbasin"})
_PLACE = "pddl_problem section :init"


def name_entities(ids: Iterable[str]) -> dict[str, str]:
    """Return id -> name; numbers run downward in id order within a type (`apple 2`, `apple 1`)."""
    ordered = sorted(set(ids), key=str.lower)
    kinds = {identifier: _kind_in_name(identifier.lower()) for identifier in ordered}
    left = Counter(kinds.values())
    names = {}
    for identifier, kind in kinds.items():
        names[identifier] = f"{kind} {left[kind]}"
        left[kind] -= 1
    return names


def _kind_in_name(identifier: str) -> str:
    kind = identifier.partition("_bar_")[0]
    return f"{kind}basin" if "basin" in identifier else kind


def build_house(problem: Problem, source: str) -> House:
    """Return all entities that the facts of `problem` mention.

    Raises:
        CorruptDataError: If an entity's id has no number; if a receptacle lacks a type or
            location, or has two; if the agent has no location, two, or one with a receptacle.
    """
    facts = problem.facts
    names = name_entities(_mentioned(problem, source))
    things = _build_things(facts, names, [i for i in names if problem.sorts[i] == "object"], source)
    at = _function(facts["receptacleAtLocation"], "receptacleAtLocation", source)
    start = _function(facts["atLocation"], "atLocation", source)
    if len(start) != 1 or set(start.values()) & set(at.values()):
        corrupt(source, _PLACE, "the agent needs one location, away from all receptacles")
    locations = [*start.values(), *dict.fromkeys(at[i] for i in names if i in at)]
    receptacles = _build_receptacles(facts, names, at, locations, source)
    return House(
        things=things,
        receptacles=receptacles,
        places=_build_places(receptacles, len(locations)),
        thing_named={t.name: t for t in things},
        receptacle_named={r.name: r for r in receptacles},
        locations={location: i for i, location in enumerate(locations)},
    )


def _mentioned(problem: Problem, source: str) -> set[str]:
    """Return the ids of entities and locations in the facts; all others there are types."""
    ids = {i for pairs in problem.facts.values() for pair in pairs for i in pair}
    numbered = {i for i in ids if "_bar_" in i}
    for identifier in ids - numbered:
        if problem.sorts.get(identifier) in ("object", "receptacle"):
            corrupt(source, _PLACE, f"{identifier} has no number: its id lacks _bar_")
    return numbered


def _function(facts: list[Fact], predicate: str, source: str) -> dict[str, str]:
    """Return the facts of a predicate that gives each id one value."""
    values = dict(facts)
    if len(values) != len(facts):
        corrupt(source, _PLACE, f"an id with two values of {predicate}")
    return values


def _build_things(
    facts: Mapping[str, list[Fact]], names: Mapping[str, str], ids: list[str], source: str
) -> tuple[Thing, ...]:
    kinds = _function(facts["objectType"], "objectType", source)
    having = {
        name: {first for first, _ in facts[name]}
        for name in (
            "pickupable",
            "cleanable",
            "heatable",
            "coolable",
            "toggleable",
            "sliceable",
            "isReceptacleObject",
        )
    }
    inside = defaultdict(set)
    for inner, outer in facts["inReceptacleObject"]:
        inside[outer].add(inner)
    things = []
    for index, identifier in enumerate(ids):
        name, kind = names[identifier], kind_of(kinds.get(identifier, ""))
        fixed_text = ""
        if identifier in having["isReceptacleObject"]:
            contents = join_names([f"a {names[i]}" for i in ids if i in inside[identifier]])
            fixed_text = f"This is a normal {name}. In it, you see {contents}."
        things.append(
            Thing(
                index=index,
                bit=1 << index,
                id=identifier,
                name=name,
                kind=kind,
                listed=f"a {name}",
                pickupable=identifier in having["pickupable"],
                cleanable=identifier in having["cleanable"],
                heatable=identifier in having["heatable"],
                coolable=identifier in having["coolable"],
                toggleable=identifier in having["toggleable"],
                sliceable=identifier in having["sliceable"],
                is_blade=kind in _BLADES,
                fixed_text=fixed_text,
            )
        )
    return tuple(things)


def _build_receptacles(
    facts: Mapping[str, list[Fact]],
    names: Mapping[str, str],
    at: Mapping[str, str],
    locations: list[str],
    source: str,
) -> tuple[Receptacle, ...]:
    types = _function(facts["receptacleType"], "receptacleType", source)
    mentioned = {r for _, r in facts["inReceptacle"]} | {r for r, _ in facts["openable"]}
    if lacking := (mentioned | types.keys() | at.keys()) - (types.keys() & at.keys()):
        corrupt(source, _PLACE, f"{min(lacking)} has no receptacleType or receptacleAtLocation")
    openable = {first for first, _ in facts["openable"]}
    accepts = _accepted_kinds(facts["canContain"])
    place_of = {location: index for index, location in enumerate(locations)}
    return tuple(
        _build_receptacle(
            index,
            identifier,
            names[identifier],
            kind_of(types[identifier]),
            place_of[at[identifier]],
            identifier in openable,
            accepts.get(types[identifier], frozenset()),
        )
        for index, identifier in enumerate(i for i in names if i in at)
    )


def _accepted_kinds(facts: list[Fact]) -> dict[str, frozenset[str]]:
    """Return receptacle type -> kinds of things that may be put there."""
    types: defaultdict[str, set[str]] = defaultdict(set)
    for receptacle_type, object_type in facts:
        types[receptacle_type].add(object_type)
    return {receptacle: frozenset(map(kind_of, accepted)) for receptacle, accepted in types.items()}


def _build_receptacle(
    index: int,
    identifier: str,
    name: str,
    kind: str,
    place_index: int,
    openable: bool,
    accepts: frozenset[str],
) -> Receptacle:
    return Receptacle(
        index=index,
        bit=1 << index,
        id=identifier,
        name=name,
        kind=kind,
        listed=f"a {name}",
        place_index=place_index,
        openable=openable,
        accepts=accepts,
        on_text=f"On the {name}, you see ",
        in_text=f"The {name} is open. In it, you see ",
        closed_text=f"The {name} is closed.",
        go_command=f"go to {name}",
        examine_command=f"examine {name}",
        open_command=f"open {name}",
        close_command=f"close {name}",
    )


def _build_places(receptacles: tuple[Receptacle, ...], count: int) -> tuple[Place, ...]:
    within: list[list[Receptacle]] = [[] for _ in range(count)]
    for receptacle in receptacles:
        within[receptacle.place_index].append(receptacle)
    in_command_order = sorted(receptacles, key=lambda r: r.go_command)
    return tuple(
        _build_place(index, tuple(here), in_command_order) for index, here in enumerate(within)
    )


def _build_place(
    index: int, here: tuple[Receptacle, ...], in_command_order: list[Receptacle]
) -> Place:
    by_name = tuple(sorted(here, key=lambda r: r.name))
    facing = join_names([r.name for r in here])
    return Place(
        index=index,
        receptacles=here,
        by_name=by_name,
        doors=tuple(r for r in by_name if r.openable),
        basins=tuple(r for r in by_name if r.kind in _BASINS),
        microwaves=tuple(r for r in by_name if r.kind == "microwave"),
        fridges=tuple(r for r in by_name if r.kind == "fridge"),
        go_commands=tuple(r.go_command for r in in_command_order if r.place_index != index),
        examine_commands=tuple(r.examine_command for r in by_name),
        facing_text=f"You are facing the {facing}. Next to it, you see ",
    )


def initial_state(problem: Problem, house: House) -> State:
    """Return the state in which every episode of the game begins."""
    things = {thing.id: thing for thing in house.things}
    receptacles = {receptacle.id: receptacle.index for receptacle in house.receptacles}
    contents: list[set[Thing]] = [set() for _ in house.receptacles]
    for thing, receptacle in problem.facts["inReceptacle"]:
        contents[receptacles[receptacle]].add(things[thing])
    floor: list[set[Thing]] = [set() for _ in house.places]
    for thing, location in problem.facts["objectAtLocation"]:
        if (place := house.locations.get(location)) is not None:
            floor[place].add(things[thing])
    return State(
        place=house.places[0],
        contents=tuple(map(in_order, contents)),
        floor=tuple(map(in_order, floor)),
        cool=sum({things[thing].bit for thing, _ in problem.facts["isCool"]}),
    )


def in_order(things: Iterable[Thing]) -> tuple[Thing, ...]:
    """Return `things` in id order."""
    return tuple(sorted(things, key=lambda thing: thing.index))
