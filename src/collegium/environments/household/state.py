"""The changing side of a game: one small object whose parts are immutable and shared by forks."""

from typing import Self

from collegium.environments.household.house import Place, Thing

Contents = tuple[tuple[Thing, ...], ...]


class State:
    """What the agent's commands change. Masks are sums of the entities' bits.

    Containment is a relation: an object may lie in two receptacles, and may be "in" one while it
    is held. `floor` (PDDL's objectAtLocation) is independent of it.
    """

    __slots__ = (
        "clean",
        "contents",
        "cool",
        "floor",
        "held",
        "hot",
        "opened",
        "place",
        "sliced",
        "taken",
        "toggled",
    )

    def __init__(self, place: Place, contents: Contents, floor: Contents, cool: int) -> None:
        self.place = place
        self.held: Thing | None = None
        self.contents = contents
        """Receptacle index -> things in it, in id order."""
        self.floor = floor
        """Place index -> things recorded at that location, in id order."""
        self.taken: tuple[int, ...] = (0,) * len(contents)
        """Receptacle index -> mask of the things taken from it and not put back."""
        self.opened = 0
        self.clean = 0
        self.hot = 0
        self.cool = cool
        self.sliced = 0
        self.toggled = 0

    def copy(self) -> Self:
        """Return an independent state; nothing is copied but references."""
        twin = object.__new__(type(self))
        twin.place = self.place
        twin.held = self.held
        twin.contents = self.contents
        twin.floor = self.floor
        twin.taken = self.taken
        twin.opened = self.opened
        twin.clean = self.clean
        twin.hot = self.hot
        twin.cool = self.cool
        twin.sliced = self.sliced
        twin.toggled = self.toggled
        return twin


def with_thing(contents: Contents, index: int, thing: Thing) -> Contents:
    """Return `contents` with `thing` added to entry `index`, in id order."""
    entry = contents[index]
    if thing in entry:
        return contents
    entry = tuple(sorted((*entry, thing), key=lambda t: t.index))
    return (*contents[:index], entry, *contents[index + 1 :])


def without_thing(contents: Contents, index: int, thing: Thing) -> Contents:
    """Return `contents` with `thing` gone from entry `index`."""
    entry = tuple(t for t in contents[index] if t is not thing)
    return (*contents[:index], entry, *contents[index + 1 :])


def marked(masks: tuple[int, ...], index: int, bit: int) -> tuple[int, ...]:
    """Return `masks` with `bit` set in entry `index`."""
    return (*masks[:index], masks[index] | bit, *masks[index + 1 :])


def unmarked(masks: tuple[int, ...], index: int, bit: int) -> tuple[int, ...]:
    """Return `masks` with `bit` cleared in entry `index`."""
    return (*masks[:index], masks[index] & ~bit, *masks[index + 1 :])
