"""The household engine: ALFWorld's rules, to the letter, on a small mutable state.

Every answer equals that of TextWorld 1.7.0 with ALFWorld 0.4.2 (observation, admissible commands
in their order, done, won, score). Observation and admissible list are built anew at each step;
only texts of single entities and places are prepared. Not thread-safe; `fork` shares all parts.
"""

import hashlib
from collections.abc import Callable
from types import MappingProxyType
from typing import Self

from collegium.core import Versions
from collegium.environments.household.game import ENGINE, Game
from collegium.environments.household.house import Place, Receptacle, Thing, join_names
from collegium.environments.household.state import Contents, State
from collegium.environments.household.wording import (
    HELP,
    NOTHING_HAPPENS,
    ROOM,
    TASK_PREFIX,
    WELCOME,
    Grammar,
)
from collegium.environments.protocol import Turn


class Household:
    """One game being played; implements `collegium.environments.Environment`."""

    __slots__ = ("_moves", "_state", "_turn", "_won", "game", "task", "versions")

    def __init__(self, game: Game, grammar: Grammar = Grammar.CURRENT) -> None:
        self.game = game
        self.task = game.task
        self.versions = Versions(game_data=game.digest, grammar=grammar, engine=ENGINE)
        self._moves = grammar is Grammar.CURRENT
        """Whether things are moved (current grammar) or put (old one)."""
        self.reset()

    @property
    def state(self) -> State:
        """The present state, for planners with full knowledge; read it, never change it."""
        return self._state

    def reset(self) -> Turn:
        """Return to the initial state and give its turn."""
        self._state = self.game.start.copy()
        self._won = self.game.win.holds(self._state)
        room = join_names([receptacle.listed for receptacle in self.game.house.receptacles])
        return self._answer(f"{WELCOME}\n\n{ROOM}{room}.\n\n{TASK_PREFIX}{self.task.goal}")

    def step(self, action: str) -> Turn:
        """Carry out `action`; one that is not admissible changes nothing."""
        verb, _, rest = action.strip().partition(" ")
        handler = _HANDLERS.get(verb)
        observation = handler(self, rest) if handler else None
        if observation is None:
            return self._answer(NOTHING_HAPPENS)
        if verb in self.game.win.verbs:
            self._won = self.game.win.holds(self._state)
        return self._answer(observation)

    def fork(self) -> Self:
        """Return an independent copy that continues from the present state."""
        twin = object.__new__(type(self))
        twin.game = self.game
        twin.task = self.task
        twin.versions = self.versions
        twin._moves = self._moves
        twin._state = self._state.copy()
        twin._won = self._won
        twin._turn = self._turn
        return twin

    def state_hash(self) -> str:
        """Return a hash of the present observation and admissible commands."""
        text = "\x1f".join((self._turn.observation, *self._turn.admissible))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _answer(self, observation: str) -> Turn:
        won = self._won
        self._turn = Turn(observation, self._admissible(), won, won, 1.0 if won else 0.0)
        return self._turn

    # Admissible commands: blocks in the plain string order of their verbs, sorted within.

    def _admissible(self) -> tuple[str, ...]:
        state = self._state
        place, opened, held = state.place, state.opened, state.held
        closes = [r.close_command for r in place.doors if r.bit & opened]
        opens = [r.open_command for r in place.doors if not r.bit & opened]
        always = ("help", "inventory", "look") if self._moves else ("inventory", "look")
        if held is None:
            commands = [*closes, *place.examine_commands, *place.go_commands, *always, *opens]
            commands += self._takes(place)
        else:
            commands = self._tools("clean", held, place.basins) if held.cleanable else []
            commands += closes
            if held.coolable:
                commands += self._tools("cool", held, place.fridges)
            commands += sorted([*place.examine_commands, f"examine {held.name}"])
            commands.extend(place.go_commands)
            if held.heatable:
                commands += self._tools("heat", held, place.microwaves)
            commands.extend(always)
            puts = self._puts(place, held)
            commands += [*puts, *opens] if self._moves else [*opens, *puts]
            if held.is_blade:
                commands += self._slices(place, held)
        commands += self._uses(place)
        return tuple(commands)

    def _takes(self, place: Place) -> list[str]:
        contents, opened = self._state.contents, self._state.opened
        commands = [
            f"take {thing.name} from {receptacle.name}"
            for receptacle in place.receptacles
            if not receptacle.openable or receptacle.bit & opened
            for thing in contents[receptacle.index]
            if thing.pickupable
        ]
        commands.sort()
        return commands

    def _puts(self, place: Place, held: Thing) -> list[str]:
        opened = self._state.opened
        verb, to = ("move", "to") if self._moves else ("put", "in/on")
        return [
            f"{verb} {held.name} {to} {receptacle.name}"
            for receptacle in place.by_name
            if held.kind in receptacle.accepts
            and (not receptacle.openable or receptacle.bit & opened)
        ]

    def _tools(self, verb: str, held: Thing, appliances: tuple[Receptacle, ...]) -> list[str]:
        return [f"{verb} {held.name} with {appliance.name}" for appliance in appliances]

    def _slices(self, place: Place, held: Thing) -> list[str]:
        floor = self._state.floor[place.index]
        return sorted(f"slice {thing.name} with {held.name}" for thing in floor if thing.sliceable)

    def _uses(self, place: Place) -> list[str]:
        contents = self._state.contents
        commands = [
            f"use {thing.name}"
            for receptacle in place.receptacles
            for thing in contents[receptacle.index]
            if thing.toggleable
        ]
        return sorted(set(commands)) if len(commands) > 1 else commands

    # Commands: each handler takes what follows the verb, and gives None if it is not admissible.

    def _go(self, rest: str) -> str | None:
        receptacle = self._receptacle(rest.removeprefix("to ")) if rest.startswith("to ") else None
        if receptacle is None or receptacle.place_index == self._state.place.index:
            return None
        self._state.place = self.game.house.places[receptacle.place_index]
        arrival = f"You arrive at {receptacle.name}. " if self._moves else ""
        return arrival + self._examined(receptacle)

    def _open(self, rest: str) -> str | None:
        receptacle = self._here(rest)
        if receptacle is None or not receptacle.openable or receptacle.bit & self._state.opened:
            return None
        self._state.opened |= receptacle.bit
        return f"You open the {receptacle.name}. {self._examined(receptacle)}"

    def _close(self, rest: str) -> str | None:
        receptacle = self._here(rest)
        if receptacle is None or not receptacle.bit & self._state.opened:
            return None
        self._state.opened &= ~receptacle.bit
        return f"You close the {receptacle.name}."

    def _take(self, rest: str) -> str | None:
        state = self._state
        what, _, where = rest.partition(" from ")
        thing, receptacle = self.game.house.thing_named.get(what), self._here(where)
        if thing is None or receptacle is None or state.held is not None or not thing.pickupable:
            return None
        if self._is_shut(receptacle) or thing not in state.contents[receptacle.index]:
            return None
        state.held = thing
        state.contents = _without(state.contents, receptacle.index, thing)
        state.floor = _without(state.floor, state.place.index, thing)
        state.taken = _mark(state.taken, receptacle.index, thing.bit)
        return f"You pick up the {thing.name} from the {receptacle.name}."

    def _move(self, rest: str) -> str | None:
        if not self._moves:
            return None
        what, _, where = rest.partition(" to ")
        return self._set_down(what, where, "You move the {} to the {}.")

    def _put(self, rest: str) -> str | None:
        if self._moves:
            return None
        what, _, where = rest.partition(" in/on ")
        return self._set_down(what, where, "You put the {} in/on the {}.")

    def _set_down(self, what: str, where: str, wording: str) -> str | None:
        state = self._state
        thing, receptacle = self._held(what), self._here(where)
        if thing is None or receptacle is None or thing.kind not in receptacle.accepts:
            return None
        if self._is_shut(receptacle):
            return None
        state.held = None
        state.contents = _with(state.contents, receptacle.index, thing)
        state.floor = _with(state.floor, state.place.index, thing)
        state.taken = _unmark(state.taken, receptacle.index, thing.bit)
        return wording.format(thing.name, receptacle.name)

    def _clean(self, rest: str) -> str | None:
        what, _, where = rest.partition(" with ")
        thing, basin = self._held(what), self._here(where)
        if thing is None or not thing.cleanable or basin not in self._state.place.basins:
            return None
        self._state.clean |= thing.bit
        return f"You clean the {what} using the {where}."

    def _heat(self, rest: str) -> str | None:
        what, _, where = rest.partition(" with ")
        thing, microwave = self._held(what), self._here(where)
        if thing is None or not thing.heatable or microwave not in self._state.place.microwaves:
            return None
        self._state.hot |= thing.bit
        self._state.cool &= ~thing.bit
        return f"You heat the {what} using the {where}."

    def _cool(self, rest: str) -> str | None:
        what, _, where = rest.partition(" with ")
        thing, fridge = self._held(what), self._here(where)
        if thing is None or not thing.coolable or fridge not in self._state.place.fridges:
            return None
        self._state.cool |= thing.bit
        self._state.hot &= ~thing.bit
        return f"You cool the {what} using the {where}."

    def _use(self, rest: str) -> str | None:
        state = self._state
        thing = self.game.house.thing_named.get(rest)
        if thing is None or not thing.toggleable:
            return None
        if not any(thing in state.contents[r.index] for r in state.place.receptacles):
            return None
        state.toggled |= thing.bit
        return f"You turn on the {thing.name}."

    def _slice(self, rest: str) -> str | None:
        state = self._state
        what, _, tool = rest.partition(" with ")
        thing, blade = self.game.house.thing_named.get(what), self._held(tool)
        if thing is None or blade is None or not blade.is_blade or not thing.sliceable:
            return None
        if thing not in state.floor[state.place.index]:
            return None
        state.sliced |= thing.bit
        return f"You sliced the {thing.name} with the {blade.name}."

    def _examine(self, rest: str) -> str | None:
        if receptacle := self._here(rest):
            return self._examined(receptacle)
        thing = self._held(rest)
        return self._examined_thing(thing) if thing else None

    def _look(self, rest: str) -> str | None:
        if rest:
            return None
        place, taken = self._state.place, self._state.taken
        if not place.receptacles:
            return f"{ROOM}nothing."
        names = [
            thing.listed
            for thing in self._state.floor[place.index]
            for receptacle in place.receptacles
            if taken[receptacle.index] & thing.bit
        ]
        return f"{place.facing_text}{join_names(names)}."

    def _inventory(self, rest: str) -> str | None:
        if rest:
            return None
        held = self._state.held
        return f"You are carrying: {held.listed}." if held else "You are not carrying anything."

    def _help(self, rest: str) -> str | None:
        return None if rest or not self._moves else HELP

    # What the handlers share.

    def _receptacle(self, name: str) -> Receptacle | None:
        return self.game.house.receptacle_named.get(name)

    def _here(self, name: str) -> Receptacle | None:
        """Return the receptacle of that name if it is within reach."""
        receptacle = self.game.house.receptacle_named.get(name)
        if receptacle is None or receptacle.place_index != self._state.place.index:
            return None
        return receptacle

    def _held(self, name: str) -> Thing | None:
        """Return the held thing if that is its name."""
        held = self._state.held
        return held if held is not None and held.name == name else None

    def _is_shut(self, receptacle: Receptacle) -> bool:
        return receptacle.openable and not receptacle.bit & self._state.opened

    def _examined(self, receptacle: Receptacle) -> str:
        if not receptacle.openable:
            start = receptacle.on_text
        elif receptacle.bit & self._state.opened:
            start = receptacle.in_text
        else:
            return receptacle.closed_text
        names = [thing.listed for thing in self._state.contents[receptacle.index]]
        return f"{start}{join_names(names)}."

    def _examined_thing(self, thing: Thing) -> str:
        state, bit = self._state, thing.bit
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


def _with(contents: Contents, index: int, thing: Thing) -> Contents:
    """Return `contents` with `thing` added to entry `index`, in id order."""
    entry = contents[index]
    if thing in entry:
        return contents
    entry = tuple(sorted((*entry, thing), key=lambda t: t.index))
    return (*contents[:index], entry, *contents[index + 1 :])


def _without(contents: Contents, index: int, thing: Thing) -> Contents:
    """Return `contents` with `thing` gone from entry `index`."""
    entry = tuple(t for t in contents[index] if t is not thing)
    return (*contents[:index], entry, *contents[index + 1 :])


def _mark(masks: tuple[int, ...], index: int, bit: int) -> tuple[int, ...]:
    return (*masks[:index], masks[index] | bit, *masks[index + 1 :])


def _unmark(masks: tuple[int, ...], index: int, bit: int) -> tuple[int, ...]:
    return (*masks[:index], masks[index] & ~bit, *masks[index + 1 :])


_HANDLERS: MappingProxyType[str, Callable[[Household, str], str | None]] = MappingProxyType(
    {
        "go": Household._go,
        "open": Household._open,
        "close": Household._close,
        "take": Household._take,
        "move": Household._move,
        "put": Household._put,
        "clean": Household._clean,
        "heat": Household._heat,
        "cool": Household._cool,
        "use": Household._use,
        "slice": Household._slice,
        "examine": Household._examine,
        "look": Household._look,
        "inventory": Household._inventory,
        "help": Household._help,
    }
)
