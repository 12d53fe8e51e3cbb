"""Win conditions, grounded at load: which things and receptacles could ever satisfy the goal."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol

from collegium.environments.household.goals import TaskType
from collegium.environments.household.house import House
from collegium.environments.household.problem import PddlGoal
from collegium.environments.household.state import State


class WinCondition(Protocol):
    """Decides from a state whether the game is won."""

    @property
    def verbs(self) -> frozenset[str]:
        """First words of the commands that can change the answer."""
        ...

    def holds(self, state: State) -> bool:
        """Return whether `state` satisfies the goal."""
        ...


@dataclass(frozen=True, slots=True)
class InLight:
    """Hold a thing where a lamp stands that was used at some time."""

    things: int
    lamps: int
    verbs: frozenset[str] = frozenset({"go", "take", "move", "put", "use"})

    def holds(self, state: State) -> bool:
        """Return whether `state` satisfies the goal."""
        lit = state.toggled & self.lamps
        if not lit or state.held is None or not state.held.bit & self.things:
            return False
        return any(
            thing.bit & lit
            for receptacle in state.place.receptacles
            for thing in state.contents[receptacle.index]
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """Have `count` things in one of the target receptacles, treated if a treatment is asked."""

    things: int
    targets: tuple[int, ...]
    count: int
    treatment: Callable[[State], int] | None
    """Gives the mask of the things that are clean, hot or cool."""
    verbs: frozenset[str]

    def holds(self, state: State) -> bool:
        """Return whether `state` satisfies the goal."""
        wanted = self.things if self.treatment is None else self.things & self.treatment(state)
        return any(
            sum(1 for thing in state.contents[target] if thing.bit & wanted) >= self.count
            for target in self.targets
        )


_MOVES = frozenset({"take", "move", "put"})
_TREATMENTS = {
    TaskType.CLEAN: ("cleanable", "clean", frozenset({"clean"})),
    TaskType.HEAT: ("heatable", "hot", frozenset({"heat", "cool"})),
    TaskType.COOL: ("coolable", "cool", frozenset({"heat", "cool"})),
}


def ground(goal: PddlGoal, house: House) -> WinCondition:
    """Return the win condition of `goal` in `house`."""
    kind, target = kind_of(goal.object_type), kind_of(goal.target_type)
    things = [thing for thing in house.things if thing.kind == kind]
    if goal.task_type is TaskType.LOOK_AT:
        lamps = sum(t.bit for t in house.things if t.kind == target and t.toggleable)
        return InLight(sum(t.bit for t in things), lamps)
    targets = tuple(r.index for r in house.receptacles if r.kind == target)
    if goal.task_type not in _TREATMENTS:
        count = 2 if goal.task_type is TaskType.PICK_TWO else 1
        return Placed(sum(t.bit for t in things), targets, count, None, _MOVES)
    able, mask, verbs = _TREATMENTS[goal.task_type]
    treatable = sum(t.bit for t in things if getattr(t, able))
    return Placed(treatable, targets, 1, attrgetter(mask), _MOVES | verbs)


def kind_of(pddl_type: str) -> str:
    """Return the kind of a PDDL type: `SinkBasinType` -> `sinkbasin`."""
    return pddl_type.removesuffix("Type").lower()
