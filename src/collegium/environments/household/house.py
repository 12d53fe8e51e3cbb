"""The static side of a game: things, receptacles, places and every text that never changes.

Entities compare by identity. Tuples of them are in id order, in which the game lists them in its
texts, unless said otherwise. A `bit` stands for the entity in the integer masks of a state.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """A PDDL object: what may lie in receptacles."""

    index: int
    bit: int
    id: str
    name: str
    """As in commands, e.g. `apple 1`."""
    kind: str
    """Lower-case type without number, e.g. `apple`."""
    listed: str
    """As in lists, e.g. `a apple 1`."""
    pickupable: bool
    cleanable: bool
    heatable: bool
    coolable: bool
    toggleable: bool
    sliceable: bool
    is_blade: bool
    fixed_text: str
    """What examining it always says; empty unless it is a receptacle object."""


@dataclass(frozen=True, slots=True, eq=False)
class Receptacle:
    """A PDDL receptacle with its fixed wording."""

    index: int
    bit: int
    id: str
    name: str
    kind: str
    listed: str
    place_index: int
    openable: bool
    accepts: frozenset[str]
    """Kinds of things that may be put there."""
    on_text: str
    in_text: str
    closed_text: str
    go_command: str
    examine_command: str
    open_command: str
    close_command: str


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A location where the agent can stand, with everything within reach there."""

    index: int
    receptacles: tuple[Receptacle, ...]
    by_name: tuple[Receptacle, ...]
    """The same, in the plain string order of their names, the order of commands."""
    doors: tuple[Receptacle, ...]
    """The openable ones, by name."""
    basins: tuple[Receptacle, ...]
    microwaves: tuple[Receptacle, ...]
    fridges: tuple[Receptacle, ...]
    go_commands: tuple[str, ...]
    examine_commands: tuple[str, ...]
    facing_text: str


@dataclass(frozen=True, slots=True, eq=False)
class House:
    """All entities of a game."""

    things: tuple[Thing, ...]
    receptacles: tuple[Receptacle, ...]
    places: tuple[Place, ...]
    """The first one is where the agent starts; no receptacle is within reach there."""
    thing_named: dict[str, Thing]
    receptacle_named: dict[str, Receptacle]
    locations: dict[str, int]
    """PDDL location id -> place index, for the locations that are places."""


def join_names(names: list[str]) -> str:
    """Return `names` as the game lists them: `nothing`, `x`, `x, and y`, `x, y, and z`."""
    if len(names) > 1:
        return f"{', '.join(names[:-1])}, and {names[-1]}"
    return names[0] if names else "nothing"
