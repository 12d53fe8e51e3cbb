"""Counts over the official train games: where things are kept, and what houses consist of.

The explorer takes its prior from them, the generator its houses. The packaged `census.json` is
written by `counting`; valid games were never counted.
"""

from collections.abc import Iterable
from functools import lru_cache
from importlib import resources

from pydantic import BaseModel, ConfigDict

FILE = "census.json"
_SIGNS = (("fridge", "kitchen"), ("toilet", "bathroom"), ("bed", "bedroom"))
_RARE = 0.004
"""Hits that a place gets where the train games show none."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Habit(_Frozen):
    """How one object type occurs in one kind of room."""

    games: int
    """Games with at least one in a receptacle."""
    placed: int
    """Objects of the type in receptacles, over all games."""
    places: dict[str, tuple[int, int]]
    """Receptacle type -> (receptacles with the object, receptacles) over the games that have it."""

    def chance(self, receptacle_type: str) -> float:
        """Return the chance that one such receptacle holds the object, if the house has it."""
        hits, total = self.places.get(receptacle_type, (0, 0))
        return (hits + _RARE) / (total + 1)


class RoomCensus(_Frozen):
    """One kind of room: kitchen, livingroom, bedroom or bathroom."""

    games: int
    layouts: tuple[dict[str, int], ...]
    """Receptacle type -> how many, one entry a floor plan."""
    objects: dict[str, Habit]
    goals: dict[str, tuple[tuple[str, str], ...]]
    """Task type -> the (object type, destination or lamp type) pairs asked for."""


class Census(_Frozen):
    """All counts. Type names are as in the game files, without the ending "Type"."""

    games: int
    rooms: dict[str, RoomCensus]
    flags: dict[str, tuple[str, ...]]
    """Object type -> its properties, e.g. `heatable`."""
    fits: dict[str, tuple[str, ...]]
    """Receptacle type -> the object types that may be put there."""
    object_types: tuple[str, ...]
    receptacle_types: tuple[str, ...]


@lru_cache(maxsize=1)
def load_census() -> Census:
    """Return the packaged census."""
    return Census.model_validate_json(
        resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    )


def room_of(receptacle_types: Iterable[str]) -> str:
    """Return the kind of room, judged by its furniture (type names in any case)."""
    present = {kind.lower() for kind in receptacle_types}
    return next((room for sign, room in _SIGNS if sign in present), "livingroom")
