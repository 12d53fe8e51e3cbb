"""A planner with full knowledge: short plans from any state, found by trying them out.

It chooses among all objects, places, appliances and targets by playing each choice on a fork and
keeps the shortest that wins. Agents never see its knowledge; it makes walkthroughs, upper bounds
and the proof that a generated game can be won.
"""

from collections.abc import Iterator
from typing import Self

from collegium.core.errors import InvalidInputError
from collegium.environments.household.engine import Household
from collegium.environments.household.game import Game
from collegium.environments.household.goals import TaskType
from collegium.environments.household.house import Receptacle, Thing
from collegium.environments.household.state import State
from collegium.environments.household.winning import kind_of

_TREATMENTS = {
    TaskType.CLEAN: ("clean", "sinkbasin"),
    TaskType.HEAT: ("heat", "microwave"),
    TaskType.COOL: ("cool", "fridge"),
}


def plan(game: Game) -> tuple[str, ...]:
    """Return commands that win `game` from its start, exactly at the last one.

    Raises:
        InvalidInputError: If no plan is found.
    """
    return plan_from(Household(game))


def plan_from(household: Household) -> tuple[str, ...]:
    """Return commands that win from the present state of `household`, which is not changed.

    The household must use the current grammar. The plan is empty if the game is won already.

    Raises:
        InvalidInputError: If no plan is found.
    """
    walk = _Walk(household.fork())
    if walk.won:
        return ()
    goal = household.game.goal
    walk = _hands_free(walk, keep=kind_of(goal.object_type))
    walks = _lit(walk) if goal.task_type is TaskType.LOOK_AT else _placed(walk)
    best = min((w for w in walks if w.won), key=lambda w: len(w.commands), default=None)
    if best is None:
        raise InvalidInputError(
            f"{household.task.task_id}: no plan for {household.task.goal!r}; "
            "the game may lack what its goal needs"
        )
    return tuple(best.commands)


class _Walk:
    """A fork with the commands that led to it; once won, further commands are not carried out."""

    def __init__(self, household: Household) -> None:
        self.household = household
        self.commands: list[str] = []
        self.won = household.game.win.holds(household.state)

    @property
    def state(self) -> State:
        return self.household.state

    def fork(self) -> Self:
        twin = type(self)(self.household.fork())
        twin.commands = self.commands.copy()
        return twin

    def do(self, command: str) -> None:
        if not self.won:
            self.commands.append(command)
            self.won = self.household.step(command).won

    def go(self, receptacle: Receptacle) -> None:
        if self.state.place.index != receptacle.place_index:
            self.do(receptacle.go_command)

    def reach(self, receptacle: Receptacle) -> None:
        self.go(receptacle)
        if receptacle.openable and not receptacle.bit & self.state.opened:
            self.do(receptacle.open_command)

    def put(self, receptacle: Receptacle) -> None:
        self.reach(receptacle)
        if held := self.state.held:
            self.do(f"move {held.name} to {receptacle.name}")

    def take(self, thing: Thing, receptacle: Receptacle) -> None:
        if self.state.held is not thing:
            self.reach(receptacle)
            self.do(f"take {thing.name} from {receptacle.name}")

    def receptacles(self, kind: str = "") -> list[Receptacle]:
        """Return all receptacles, or those of one kind."""
        return [r for r in self.household.game.house.receptacles if kind in ("", r.kind)]

    def holding(self, kind: str) -> Iterator[Self]:
        """Yield forks that hold a thing of the kind, one for each way to get one."""
        held = self.state.held
        if held is not None:
            yield self.fork()
            return
        for receptacle in self.receptacles():
            for thing in self.state.contents[receptacle.index]:
                if thing.kind == kind and thing.pickupable:
                    walk = self.fork()
                    walk.take(thing, receptacle)
                    yield walk


def _hands_free(walk: _Walk, keep: str) -> _Walk:
    """Return the shortest walk after which nothing is held, except a thing of kind `keep`."""
    held = walk.state.held
    if held is None or held.kind == keep:
        return walk
    trials = []
    for receptacle in walk.receptacles():
        if held.kind in receptacle.accepts:
            trials.append(walk.fork())
            trials[-1].put(receptacle)
    return min(trials, key=lambda w: len(w.commands), default=walk)


def _lit(start: _Walk) -> Iterator[_Walk]:
    """Yield walks that hold the object where a lamp shines."""
    goal = start.household.game.goal
    lamp_kind = kind_of(goal.target_type)
    for walk in start.holding(kind_of(goal.object_type)):
        for receptacle in walk.receptacles():
            for lamp in walk.state.contents[receptacle.index]:
                if lamp.kind == lamp_kind and lamp.toggleable:
                    end = walk.fork()
                    end.go(receptacle)
                    end.do(f"use {lamp.name}")
                    yield end


def _placed(start: _Walk) -> Iterator[_Walk]:
    """Yield walks that put the object, treated if asked, into each target."""
    goal = start.household.game.goal
    kind = kind_of(goal.object_type)
    count = 2 if goal.task_type is TaskType.PICK_TWO else 1
    for target in start.receptacles(kind_of(goal.target_type)):
        walk = start
        for _ in range(count):
            deliveries = _deliveries(walk, kind, target)
            walk = min(deliveries, key=lambda w: (not w.won, len(w.commands)), default=walk)
        yield walk


def _deliveries(start: _Walk, kind: str, target: Receptacle) -> Iterator[_Walk]:
    """Yield walks that bring one more object to `target`."""
    task_type = start.household.game.goal.task_type
    there = set(start.state.contents[target.index])
    for walk in start.holding(kind):
        if task_type is TaskType.PICK_TWO and walk.state.held in there:
            continue
        for treated in _treated(walk, task_type):
            treated.put(target)
            yield treated


def _treated(walk: _Walk, task_type: TaskType) -> Iterator[_Walk]:
    if task_type not in _TREATMENTS:
        yield walk
        return
    verb, appliance = _TREATMENTS[task_type]
    yield walk.fork()
    for receptacle in walk.receptacles(appliance):
        treated = walk.fork()
        treated.go(receptacle)
        if held := treated.state.held:
            treated.do(f"{verb} {held.name} with {receptacle.name}")
        yield treated
