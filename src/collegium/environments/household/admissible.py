"""The admissible list of a state: blocks in the plain string order of their verbs, each sorted."""

from collections.abc import Sequence

from collegium.environments.household.house import Place, Receptacle, Thing
from collegium.environments.household.state import State
from collegium.environments.household.wording import Grammar

_ALWAYS = {
    Grammar.CURRENT: ("help", "inventory", "look"),
    Grammar.OLD: ("inventory", "look"),
}


def admissible_commands(state: State, grammar: Grammar) -> tuple[str, ...]:
    """Return all commands that `state` accepts, in plain string order."""
    place, opened = state.place, state.opened
    closes: list[str] = []
    opens: list[str] = []
    for receptacle in place.doors:
        if receptacle.bit & opened:
            closes.append(receptacle.close_command)
        else:
            opens.append(receptacle.open_command)
    if state.held is not None:
        return _while_holding(state, state.held, closes, opens, grammar)
    always, examines, gos = _ALWAYS[grammar], place.examine_commands, place.go_commands
    return (*closes, *examines, *gos, *always, *opens, *_takes(state, place), *_uses(state, place))


def _while_holding(
    state: State, held: Thing, closes: Sequence[str], opens: Sequence[str], grammar: Grammar
) -> tuple[str, ...]:
    place = state.place
    moves = grammar is Grammar.CURRENT
    puts = _puts(state, place, held, moves)
    return (
        *(_tools("clean", held, place.basins) if held.cleanable else ()),
        *closes,
        *(_tools("cool", held, place.fridges) if held.coolable else ()),
        *sorted((*place.examine_commands, f"examine {held.name}")),
        *place.go_commands,
        *(_tools("heat", held, place.microwaves) if held.heatable else ()),
        *_ALWAYS[grammar],
        *(puts if moves else ()),
        *opens,
        *(() if moves else puts),
        *(_slices(state, place, held) if held.is_blade else ()),
        *_uses(state, place),
    )


def _takes(state: State, place: Place) -> list[str]:
    contents, opened = state.contents, state.opened
    commands = [
        f"take {thing.name} from {receptacle.name}"
        for receptacle in place.receptacles
        if not receptacle.openable or receptacle.bit & opened
        for thing in contents[receptacle.index]
        if thing.pickupable
    ]
    commands.sort()
    return commands


def _puts(state: State, place: Place, held: Thing, moves: bool) -> list[str]:
    opened = state.opened
    verb, to = ("move", "to") if moves else ("put", "in/on")
    return [
        f"{verb} {held.name} {to} {receptacle.name}"
        for receptacle in place.by_name
        if held.kind in receptacle.accepts and (not receptacle.openable or receptacle.bit & opened)
    ]


def _tools(verb: str, held: Thing, appliances: tuple[Receptacle, ...]) -> list[str]:
    return [f"{verb} {held.name} with {appliance.name}" for appliance in appliances]


def _slices(state: State, place: Place, held: Thing) -> list[str]:
    floor = state.floor[place.index]
    return sorted(f"slice {thing.name} with {held.name}" for thing in floor if thing.sliceable)


def _uses(state: State, place: Place) -> Sequence[str]:
    contents = state.contents
    commands = [
        f"use {thing.name}"
        for receptacle in place.receptacles
        for thing in contents[receptacle.index]
        if thing.toggleable
    ]
    return sorted(set(commands)) if len(commands) > 1 else commands
