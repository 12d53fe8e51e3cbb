"""An expert that plays like an agent: it sees the text of the game and nothing else.

Its strategy is plain enough to be learnt from its episodes: search where the object most likely
is for the steps it costs (the prior is counted over train games, see `census`), take the first
one that fits, treat it, put it away at once. It remembers what it saw and never looks twice.
Only the turns are read, not its own actions, so it can also advise another agent's episode.
"""

from collections.abc import Sequence, Set
from functools import lru_cache

from collegium.core.seeds import generator
from collegium.environments.household.census import load_census, room_of
from collegium.environments.household.goals import TaskType, parse_goal
from collegium.environments.household.sightings import Sightings, by_number, has_door, type_of

_TREATMENTS = {
    TaskType.CLEAN: ("clean", "sinkbasin"),
    TaskType.HEAT: ("heat", "microwave"),
    TaskType.COOL: ("cool", "fridge"),
}
_UNKNOWN_CHANCE = 0.05
_STROLL_SHARE = 0.75
"""Share of the noisy steps that go somewhere; the others open or take something."""


class Explorer:
    """Plays one episode; the same seed and the same turns give the same actions."""

    def __init__(
        self, goal_text: str, initial_observation: str, seed: int, noise: float = 0.0
    ) -> None:
        """Read the goal and the room.

        Args:
            goal_text: The task's sentence.
            initial_observation: The first observation, which lists the receptacles.
            seed: Seed of the noise; without noise it has no effect.
            noise: Probability in [0, 1] that a step is a random one.

        Raises:
            InvalidInputError: If the goal has no known wording.
        """
        self.goal = parse_goal(goal_text)
        self.advice = ""
        """What the expert would do now, also where noise made it do something else."""
        self._seen = Sightings(initial_observation)
        self._room = room_of(type_of(r) for r in self._seen.receptacles)
        self._noise = noise
        self._rng = generator(seed, "explorer", goal_text, initial_observation)

    def act(self, observation: str, admissible: Sequence[str]) -> str:
        """Return the next action, given the newest turn, whoever caused it."""
        self._seen.update(observation, admissible)
        self.advice = self._admitted(self._advise(frozenset(admissible)), admissible)
        if self._noise and self._rng.random() < self._noise:
            return self._stray(admissible) or self.advice
        return self.advice

    def _advise(self, commands: Set[str]) -> str:
        held = self._seen.held
        if held is None:
            return self._fetch(commands)
        if type_of(held) != self.goal.object:
            return self._put_down(held, commands)
        if self.goal.task_type is TaskType.LOOK_AT:
            return self._light(commands)
        verb, appliance = _TREATMENTS.get(self.goal.task_type, ("", ""))
        if verb and not self._seen.is_treated(held, verb):
            return self._treat(held, verb, appliance, commands)
        target = self._target()
        if target is None:
            return self._search((), commands)
        move = f"move {held} to {target}"
        return move if move in commands else _approach(target, commands)

    def _fetch(self, commands: Set[str]) -> str:
        """Take an object of the goal's type that is not yet where it belongs."""
        target = self._target() if self.goal.count > 1 else None
        done = self._seen.inside(target, self.goal.object) if target else ()
        known = [(o, r) for o, r in self._seen.places(self.goal.object) if o not in done]
        takes = (f"take {name} from {place}" for name, place in known)
        if take := next((command for command in takes if command in commands), None):
            return take
        if known:
            return _approach(known[0][1], commands)
        return self._search(self._wanted(), commands)

    def _wanted(self) -> tuple[str, ...]:
        lamp = self.goal.destination
        if self.goal.task_type is TaskType.LOOK_AT and not self._seen.places(lamp):
            return (self.goal.object, lamp)
        return (self.goal.object,)

    def _light(self, commands: Set[str]) -> str:
        lamps = self._seen.places(self.goal.destination)
        for lamp, _ in lamps:
            if f"use {lamp}" in commands:
                return f"use {lamp}"
        if lamps:
            return f"go to {lamps[0][1]}"
        return self._search((self.goal.destination,), commands)

    def _treat(self, held: str, verb: str, appliance: str, commands: Set[str]) -> str:
        machines = [r for r in self._seen.receptacles if type_of(r) == appliance]
        uses = (f"{verb} {held} with {machine}" for machine in machines)
        ready = next((command for command in uses if command in commands), None)
        return ready or (f"go to {machines[0]}" if machines else "")

    def _put_down(self, held: str, commands: Set[str]) -> str:
        moves = sorted(c for c in commands if c.startswith(f"move {held} to "))
        if moves:
            return moves[0]
        fitting = (r for r in self._seen.receptacles if (type_of(held), type_of(r)) in _fits())
        places = [r for r in fitting if self._steps(r)]
        return _approach(min(places, key=self._steps, default=""), commands)

    def _target(self) -> str | None:
        """Return the receptacle to end in: most done there, then fewest steps, then by number."""
        places = [r for r in self._seen.receptacles if type_of(r) == self.goal.destination]
        kind = self.goal.object if self.goal.count > 1 else ""
        return min(
            places,
            key=lambda r: (-len(self._seen.inside(r, kind)), self._steps(r), by_number(r)),
            default=None,
        )

    def _steps(self, receptacle: str) -> int:
        """Return how many commands it takes until the receptacle is within reach and open."""
        seen = self._seen
        shut = receptacle in seen.closed or (
            not seen.is_searched(receptacle) and has_door(receptacle)
        )
        return (receptacle not in seen.here) + shut

    def _search(self, kinds: tuple[str, ...], commands: Set[str]) -> str:
        """Go to (or open) the place that promises most per step; ties by type and number."""
        unsearched = self._unsearched()
        if not unsearched:
            self._seen.forget()
            unsearched = self._unsearched()
        gains = {r: self._chance(kinds, type_of(r)) / max(1, self._steps(r)) for r in unsearched}
        return _approach(max(gains, key=gains.__getitem__, default=""), commands)

    def _unsearched(self) -> list[str]:
        # A plain goal would be won already if its destination held the object.
        done = self.goal.destination if self.goal.task_type is TaskType.PICK_AND_PLACE else ""
        places = [r for r in self._seen.receptacles if not self._seen.is_searched(r)]
        return [r for r in places if type_of(r) != done]

    def _chance(self, kinds: tuple[str, ...], place: str) -> float:
        chances = _chances(self._room)
        return sum(chances.get((kind, place), _UNKNOWN_CHANCE) for kind in kinds)

    def _stray(self, admissible: Sequence[str]) -> str | None:
        """Return a random step that an unsure agent might take."""
        strolls = [c for c in admissible if c.startswith("go to ")]
        fresh = [c for c in strolls if not self._seen.is_searched(c.removeprefix("go to "))]
        deeds = [c for c in admissible if c.startswith("open ") or _can_be_returned(c)]
        stroll = self._rng.random() < _STROLL_SHARE or not deeds
        choices = (fresh or strolls) if stroll else deeds
        return choices[int(self._rng.integers(len(choices)))] if choices else None

    def _admitted(self, command: str, admissible: Sequence[str]) -> str:
        if command in admissible:
            return command
        return next((c for c in admissible if c.startswith("go to ")), "look")


def _approach(place: str, commands: Set[str]) -> str:
    return f"open {place}" if f"open {place}" in commands else f"go to {place}"


def _can_be_returned(command: str) -> bool:
    """Return whether it takes a thing that may be put back: a few fit nowhere once in hand."""
    thing, _, place = command.removeprefix("take ").partition(" from ")
    return command.startswith("take ") and (type_of(thing), type_of(place)) in _fits()


@lru_cache(maxsize=1)
def _fits() -> frozenset[tuple[str, str]]:
    fits = load_census().fits.items()
    return frozenset((kind.lower(), place.lower()) for place, kinds in fits for kind in kinds)


@lru_cache(maxsize=8)
def _chances(room: str) -> dict[tuple[str, str], float]:
    """Return (object type, receptacle type) -> chance, for the types the census has there."""
    census = load_census()
    return {
        (kind.lower(), place.lower()): habit.chance(place)
        for kind, habit in census.rooms[room].objects.items()
        for place in census.receptacle_types
    }
