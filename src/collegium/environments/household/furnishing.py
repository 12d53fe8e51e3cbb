"""Builds a random house around a goal: furniture, objects and coordinates after the census."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TypeVar

import numpy as np

from collegium.environments.household.census import Habit, RoomCensus
from collegium.environments.household.floorplan import FloorPlan, Item, Point, entity_id
from collegium.environments.household.goals import TaskType

_T = TypeVar("_T")
_APPLIANCES = {
    TaskType.CLEAN: "SinkBasin",
    TaskType.HEAT: "Microwave",
    TaskType.COOL: "Fridge",
}
_MOST_OF_A_KIND = 3
_SHARED_SPOT = 0.12
"""Share of receptacles that are reached from where the one before of their type is reached."""
_HALF_WIDTH = 3.0
_HEIGHTS = {"Cabinet": 1.9, "Shelf": 1.3, "Drawer": 0.5, "GarbageCan": 0.0}
_GRID = 0.25
"""Metres between two spots where an agent can stand."""


def furnish(
    rng: np.random.Generator, room: RoomCensus, task_type: TaskType, name: str
) -> FloorPlan:
    """Return a house in which the goal can be reached and is not reached yet.

    Args:
        rng: Source of all choices.
        room: What rooms of the wanted kind are like; it must have goals of `task_type`.
        task_type: Kind of the goal.
        name: Name of the PDDL problem.
    """
    goals = [goal for goal in room.goals[task_type] if _layouts(room, task_type, goal)]
    goal = _choice(rng, goals)
    layout = _choice(rng, _layouts(room, task_type, goal))
    points: dict[str, Point] = {}
    receptacles = tuple(_furniture(rng, layout, points))
    objects = tuple(_objects(rng, room, task_type, goal, receptacles, points))
    return FloorPlan(name, receptacles, objects, _start(rng, receptacles), task_type, goal)


def _layouts(
    room: RoomCensus, task_type: TaskType, goal: tuple[str, str]
) -> list[Mapping[str, int]]:
    """Return the layouts that have what the goal needs."""
    kind, target = goal
    needed = {_APPLIANCES[task_type]} if task_type in _APPLIANCES else set()
    needed |= set() if task_type is TaskType.LOOK_AT else {target}
    placed = [room.objects[kind]] if kind in room.objects else []
    if task_type is TaskType.LOOK_AT:
        placed += [room.objects[target]] if target in room.objects else []
    if len(placed) < (2 if task_type is TaskType.LOOK_AT else 1):
        return []
    return [
        layout
        for layout in room.layouts
        if needed <= layout.keys()
        and all(habit.places.keys() & (layout.keys() - {target}) for habit in placed)
    ]


def _furniture(
    rng: np.random.Generator, layout: Mapping[str, int], points: dict[str, Point]
) -> Iterator[Item]:
    for kind, number in layout.items():
        location = ""
        for _ in range(number):
            height = _HEIGHTS.get(kind, 0.8)
            identifier = _new_id(rng, kind, (0.0, height, 0.0), _HALF_WIDTH, points)
            if not location or rng.random() >= _SHARED_SPOT:
                location = _location(rng, points[identifier])
            yield Item(kind, identifier, location)


def _objects(
    rng: np.random.Generator,
    room: RoomCensus,
    task_type: TaskType,
    goal: tuple[str, str],
    receptacles: Sequence[Item],
    points: dict[str, Point],
) -> Iterator[Item]:
    kind, target = goal
    for name, habit in room.objects.items():
        number = _number(rng, room, habit)
        if name == kind:
            number = max(number, 2 if task_type is TaskType.PICK_TWO else 1)
        if name == target and task_type is TaskType.LOOK_AT:
            number = 1
        places = [r for r in receptacles if r.kind in habit.places]
        if name == kind:
            places = [r for r in places if r.kind != target]
        for _ in range(number if places else 0):
            place = _weighted(rng, habit, places)
            identifier = _new_id(rng, name, points[place.id], 0.2, points)
            yield Item(name, identifier, place.location, place.id)


def _number(rng: np.random.Generator, room: RoomCensus, habit: Habit) -> int:
    """Return how many of an object the house has."""
    if rng.random() >= habit.games / room.games:
        return 0
    return min(1 + int(rng.poisson(habit.placed / habit.games - 1)), _MOST_OF_A_KIND)


def _weighted(rng: np.random.Generator, habit: Habit, places: Sequence[Item]) -> Item:
    weights = np.array([habit.chance(place.kind) for place in places])
    return places[int(rng.choice(len(places), p=weights / weights.sum()))]


def _new_id(
    rng: np.random.Generator, kind: str, centre: Point, reach: float, points: dict[str, Point]
) -> str:
    """Return an unused id near `centre` and note its point."""
    while True:
        x, z = (float(c + rng.uniform(-reach, reach)) for c in (centre[0], centre[2]))
        identifier = entity_id(kind, (x, centre[1], z))
        if identifier not in points:
            points[identifier] = (x, centre[1], z)
            return identifier


def _location(rng: np.random.Generator, point: Point) -> str:
    """Return the id of a spot to stand near `point`, with gaze direction and angle."""
    x, z = (round(value / _GRID) + int(rng.integers(-2, 3)) for value in (point[0], point[2]))
    direction, angle = int(rng.integers(4)), _choice(rng, (30, 45, 60))
    return "loc" + "".join(
        f"_bar_{'_minus_' if value < 0 else ''}{abs(value)}" for value in (x, z, direction, angle)
    )


def _start(rng: np.random.Generator, receptacles: Sequence[Item]) -> str:
    used: Set[str] = {receptacle.location for receptacle in receptacles}
    while True:
        location = _location(rng, (0.0, 0.0, 0.0))
        if location not in used:
            return location


def _choice(rng: np.random.Generator, items: Sequence[_T]) -> _T:
    return items[int(rng.integers(len(items)))]
