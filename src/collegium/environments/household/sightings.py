"""What an agent has seen of a house so far, read from nothing but the text of the turns.

Every sentence of the games names its things, so an observation and the admissible commands are
enough: the agent's own actions are not needed. A `Sightings` can therefore follow anyone's
episode, also one that a language model plays. The current grammar only (`move X to Y`).
"""

import re
from collections.abc import Sequence, Set

_NAME = r"[a-z]+ \d+"
_ROOM = re.compile(rf"you see ((?:a {_NAME}(?:, and |, )?)+)\.")
_CONTENT = re.compile(rf"(?:On the|The) ({_NAME})(?: is open\. In it)?, you see (.*?)\.")
_TAKEN = re.compile(rf"You pick up the ({_NAME}) from the ({_NAME})\.")
_MOVED = re.compile(rf"You move the ({_NAME}) to the ({_NAME})\.")
_TREATED = re.compile(rf"You (clean|heat|cool) the ({_NAME}) using the {_NAME}\.")
_OPPOSITE = {"heat": "cool", "cool": "heat"}
_FIND_NAMES = re.compile(_NAME)

_DOORS = frozenset({"cabinet", "drawer", "fridge", "microwave", "safe"})


def type_of(name: str) -> str:
    """Return the type in a numbered name: `cabinet 10` -> `cabinet`."""
    return name.rpartition(" ")[0]


def has_door(receptacle: str) -> bool:
    """Return whether its type can be closed (a few cabinets and drawers always stand open)."""
    return type_of(receptacle) in _DOORS


def by_number(name: str) -> tuple[str, int]:
    """Return a sort key that puts `cabinet 2` before `cabinet 10`."""
    kind, _, number = name.rpartition(" ")
    return kind, int(number)


class Sightings:
    """A memory of one house; `update` with each turn's text keeps it current."""

    def __init__(self, initial_observation: str) -> None:
        listed = _ROOM.search(initial_observation)
        names = _FIND_NAMES.findall(listed.group(1)) if listed else []
        self.receptacles = tuple(sorted(names, key=by_number))
        self.here: tuple[str, ...] = ()
        """Receptacles within reach, by type and number."""
        self.held: str | None = None
        self.closed: set[str] = set()
        """Receptacles seen closed and not opened since."""
        self._contents: dict[str, set[str]] = {}
        self._treated: set[tuple[str, str]] = set()

    def update(self, observation: str, admissible: Sequence[str]) -> None:
        """Take in one turn."""
        self._read_event(observation)
        commands = set(admissible)
        self.here = tuple(r for r in self.receptacles if f"examine {r}" in commands)
        for content in _CONTENT.finditer(observation):
            self._contents[content.group(1)] = set(_FIND_NAMES.findall(content.group(2)))
        self._read_reach(commands)

    def _read_event(self, observation: str) -> None:
        if taken := _TAKEN.match(observation):
            self.held, source = taken.groups()
            self._contents.setdefault(source, set()).discard(self.held)
        elif moved := _MOVED.match(observation):
            self.held = None
            self._contents.setdefault(moved.group(2), set()).add(moved.group(1))
        elif treated := _TREATED.match(observation):
            self._note_treatment(*treated.groups())

    def _note_treatment(self, verb: str, name: str) -> None:
        self._treated.add((name, verb))
        if verb in _OPPOSITE:
            self._treated.discard((name, _OPPOSITE[verb]))

    def _read_reach(self, commands: Set[str]) -> None:
        """With empty hands, the commands show everything in the open receptacles here."""
        for receptacle in self.here:
            if f"open {receptacle}" in commands:
                self.closed.add(receptacle)
                continue
            self.closed.discard(receptacle)
            if self.held is None:
                self._contents.setdefault(receptacle, set())
        for command in commands:
            if command.startswith("take "):
                name, _, receptacle = command[5:].partition(" from ")
                self._contents.setdefault(receptacle, set()).add(name)
            elif command.startswith("use ") and self.here:
                self._note_lamp(command[4:])

    def _note_lamp(self, lamp: str) -> None:
        if not any(lamp in self._contents.get(r, ()) for r in self.here):
            self._contents.setdefault(self.here[0], set()).add(lamp)

    def is_searched(self, receptacle: str) -> bool:
        """Return whether its content is known."""
        return receptacle in self._contents

    def inside(self, receptacle: str, kind: str) -> tuple[str, ...]:
        """Return the objects of type `kind` known to be in `receptacle`, by number."""
        found = (o for o in self._contents.get(receptacle, ()) if type_of(o) == kind)
        return tuple(sorted(found, key=by_number))

    def places(self, kind: str) -> tuple[tuple[str, str], ...]:
        """Return all known (object, receptacle) pairs of type `kind`, ordered."""
        return tuple((o, r) for r in self.receptacles for o in self.inside(r, kind))

    def is_treated(self, name: str, verb: str) -> bool:
        """Return whether the effect of `clean`, `heat` or `cool` still holds for the object."""
        return (name, verb) in self._treated

    def forget(self) -> None:
        """Drop all contents, to search again."""
        self._contents.clear()
