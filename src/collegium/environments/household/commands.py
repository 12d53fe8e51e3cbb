"""What each command does and answers, by its first word; one table for each grammar.

A handler is given what follows the verb. It changes the state and returns the answer, or returns
None and changes nothing if the command is not admissible.
"""

from collections.abc import Callable
from typing import Final

from collegium.environments.household.house import House, Receptacle, Thing, join_names
from collegium.environments.household.state import (
    State,
    marked,
    unmarked,
    with_thing,
    without_thing,
)
from collegium.environments.household.wording import HELP, ROOM, Grammar

Handler = Callable[[House, State, str], str | None]


def _arrive(house: House, state: State, rest: str) -> str | None:
    answer = _go(house, state, rest)
    return None if answer is None else f"You arrive at {rest.removeprefix('to ')}. {answer}"


def _go(house: House, state: State, rest: str) -> str | None:
    to, _, name = rest.partition(" ")
    receptacle = house.receptacle_named.get(name)
    if to != "to" or receptacle is None or receptacle.place_index == state.place.index:
        return None
    state.place = house.places[receptacle.place_index]
    return _examined(state, receptacle)


def _open(house: House, state: State, rest: str) -> str | None:
    receptacle = _within_reach(house, state, rest)
    if receptacle is None or not receptacle.openable or receptacle.bit & state.opened:
        return None
    state.opened |= receptacle.bit
    return f"You open the {receptacle.name}. {_examined(state, receptacle)}"


def _close(house: House, state: State, rest: str) -> str | None:
    receptacle = _within_reach(house, state, rest)
    if receptacle is None or not receptacle.bit & state.opened:
        return None
    state.opened &= ~receptacle.bit
    return f"You close the {receptacle.name}."


def _take(house: House, state: State, rest: str) -> str | None:
    what, _, where = rest.partition(" from ")
    thing, receptacle = house.thing_named.get(what), _within_reach(house, state, where)
    if thing is None or receptacle is None or state.held is not None or not thing.pickupable:
        return None
    if _is_shut(state, receptacle) or thing not in state.contents[receptacle.index]:
        return None
    state.held = thing
    state.contents = without_thing(state.contents, receptacle.index, thing)
    state.floor = without_thing(state.floor, state.place.index, thing)
    state.taken = marked(state.taken, receptacle.index, thing.bit)
    return f"You pick up the {what} from the {where}."


def _move(house: House, state: State, rest: str) -> str | None:
    what, _, where = rest.partition(" to ")
    moved = _set_down(house, state, what, where)
    return f"You move the {what} to the {where}." if moved else None


def _put(house: House, state: State, rest: str) -> str | None:
    what, _, where = rest.partition(" in/on ")
    return (
        f"You put the {what} in/on the {where}." if _set_down(house, state, what, where) else None
    )


def _set_down(house: House, state: State, what: str, where: str) -> bool:
    thing, receptacle = _held(state, what), _within_reach(house, state, where)
    if thing is None or receptacle is None or thing.kind not in receptacle.accepts:
        return False
    if _is_shut(state, receptacle):
        return False
    state.held = None
    state.contents = with_thing(state.contents, receptacle.index, thing)
    state.floor = with_thing(state.floor, state.place.index, thing)
    state.taken = unmarked(state.taken, receptacle.index, thing.bit)
    return True


def _clean(house: House, state: State, rest: str) -> str | None:
    what, _, where = rest.partition(" with ")
    thing, basin = _held(state, what), _within_reach(house, state, where)
    if thing is None or not thing.cleanable or basin not in state.place.basins:
        return None
    state.clean |= thing.bit
    return f"You clean the {what} using the {where}."


def _heat(house: House, state: State, rest: str) -> str | None:
    what, _, where = rest.partition(" with ")
    thing, microwave = _held(state, what), _within_reach(house, state, where)
    if thing is None or not thing.heatable or microwave not in state.place.microwaves:
        return None
    state.hot |= thing.bit
    state.cool &= ~thing.bit
    return f"You heat the {what} using the {where}."


def _cool(house: House, state: State, rest: str) -> str | None:
    what, _, where = rest.partition(" with ")
    thing, fridge = _held(state, what), _within_reach(house, state, where)
    if thing is None or not thing.coolable or fridge not in state.place.fridges:
        return None
    state.cool |= thing.bit
    state.hot &= ~thing.bit
    return f"You cool the {what} using the {where}."


def _use(house: House, state: State, rest: str) -> str | None:
    thing = house.thing_named.get(rest)
    if thing is None or not thing.toggleable:
        return None
    if not any(thing in state.contents[r.index] for r in state.place.receptacles):
        return None
    state.toggled |= thing.bit
    return f"You turn on the {rest}."


def _slice(house: House, state: State, rest: str) -> str | None:
    what, _, tool = rest.partition(" with ")
    thing, blade = house.thing_named.get(what), _held(state, tool)
    if thing is None or blade is None or not blade.is_blade or not thing.sliceable:
        return None
    if thing not in state.floor[state.place.index]:
        return None
    state.sliced |= thing.bit
    return f"You sliced the {what} with the {tool}."


def _examine(house: House, state: State, rest: str) -> str | None:
    if receptacle := _within_reach(house, state, rest):
        return _examined(state, receptacle)
    thing = _held(state, rest)
    return _examined_thing(state, thing) if thing else None


def _look(house: House, state: State, rest: str) -> str | None:
    if rest:
        return None
    place, taken = state.place, state.taken
    if not place.receptacles:
        return f"{ROOM}nothing."
    names = [
        thing.listed
        for thing in state.floor[place.index]
        for receptacle in place.receptacles
        if taken[receptacle.index] & thing.bit
    ]
    return f"{place.facing_text}{join_names(names)}."


def _inventory(house: House, state: State, rest: str) -> str | None:
    if rest:
        return None
    held = state.held
    return f"You are carrying: {held.listed}." if held else "You are not carrying anything."


def _help(house: House, state: State, rest: str) -> str | None:
    return None if rest else HELP


def _within_reach(house: House, state: State, name: str) -> Receptacle | None:
    receptacle = house.receptacle_named.get(name)
    if receptacle is None or receptacle.place_index != state.place.index:
        return None
    return receptacle


def _held(state: State, name: str) -> Thing | None:
    """Return the held thing if that is its name."""
    held = state.held
    return held if held is not None and held.name == name else None


def _is_shut(state: State, receptacle: Receptacle) -> bool:
    return receptacle.openable and not receptacle.bit & state.opened


def _examined(state: State, receptacle: Receptacle) -> str:
    if not receptacle.openable:
        start = receptacle.on_text
    elif receptacle.bit & state.opened:
        start = receptacle.in_text
    else:
        return receptacle.closed_text
    names = [thing.listed for thing in state.contents[receptacle.index]]
    return f"{start}{join_names(names)}."


def _examined_thing(state: State, thing: Thing) -> str:
    bit = thing.bit
    if thing.fixed_text:
        return thing.fixed_text
    clean, sliced = state.clean & bit, state.sliced & bit
    lone = "cool" if clean or sliced else "cold"
    warmth = "hot" if state.hot & bit else lone if state.cool & bit else ""
    words = " and ".join(word for word in (warmth, "clean" if clean else "") if word)
    adjective = f"{words} sliced".lstrip() if sliced else words
    if not adjective:
        return f"There's nothing special about {thing.name}."
    return f"This is a {adjective} {thing.name}."


_ALIKE: Final[dict[str, Handler]] = {
    "open": _open,
    "close": _close,
    "take": _take,
    "clean": _clean,
    "heat": _heat,
    "cool": _cool,
    "use": _use,
    "slice": _slice,
    "examine": _examine,
    "look": _look,
    "inventory": _inventory,
}

HANDLERS: Final[dict[Grammar, dict[str, Handler]]] = {
    Grammar.CURRENT: {**_ALIKE, "go": _arrive, "move": _move, "help": _help},
    Grammar.OLD: {**_ALIKE, "go": _go, "put": _put},
}
"""Grammar -> first word of a command -> its handler."""
