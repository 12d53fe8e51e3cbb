"""A generated house and its text: the PDDL problem in the layout of the official games."""

from collections.abc import Iterator
from dataclasses import dataclass

from collegium.environments.household.census import Census
from collegium.environments.household.goals import TaskType
from collegium.environments.household.problem import GOAL_TEMPLATES

OPENABLE = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"})
_FLAG_ORDER = (
    *("pickupable", "isReceptacleObject", "cleanable", "heatable", "coolable"),
    *("toggleable", "sliceable"),
)

Point = tuple[float, float, float]
"""x, height, z in metres."""


@dataclass(frozen=True, slots=True)
class Item:
    """A receptacle, or an object in one."""

    kind: str
    """Type name as in the census, e.g. `CounterTop`."""
    id: str
    location: str
    inside: str = ""
    """Id of the receptacle that an object lies in."""


@dataclass(frozen=True, slots=True)
class FloorPlan:
    """A house with a goal."""

    name: str
    receptacles: tuple[Item, ...]
    objects: tuple[Item, ...]
    start: str
    """Location of the agent, with nothing in reach."""
    task_type: TaskType
    goal: tuple[str, str]
    """Object type and destination or lamp type."""


def entity_id(kind: str, point: Point) -> str:
    """Return an id in the official form: type and coordinates, two decimals."""
    place = "_bar_".join(_coordinate(value) for value in point)
    if kind.endswith("Basin"):
        return f"{kind.removesuffix('Basin')}_bar_{place}_bar_{kind}"
    return f"{kind}_bar_{place}"


def _coordinate(value: float) -> str:
    sign = "minus" if value < 0 else "plus"
    return f"_{sign}_{abs(value):05.2f}".replace(".", "_dot_")


def problem_text(plan: FloorPlan, census: Census) -> str:
    """Return the PDDL problem of the house."""
    declarations = "\n        ".join(_declarations(plan, census))
    facts = "\n        ".join(f"({fact})" for fact in _facts(plan, census))
    kind, target = plan.goal
    goal = GOAL_TEMPLATES[plan.task_type]
    goal = goal.replace("OBJECT", f"{kind}Type").replace("TARGET", f"{target}Type")
    return (
        f"\n(define (problem plan_{plan.name})\n(:domain alfred)\n(:objects\n"
        f"        {declarations}\n        )\n\n(:init\n        {facts}\n        )\n\n"
        f"        (:goal\n            (and\n                {goal}\n"
        "            )\n        )\n    )\n"
    )


def _declarations(plan: FloorPlan, census: Census) -> Iterator[str]:
    yield "agent1 - agent"
    yield from (f"{kind} - object" for kind in census.object_types)
    yield from (f"{kind}Type - otype" for kind in census.object_types)
    yield from (f"{kind}Type - rtype" for kind in census.receptacle_types)
    yield from (f"{item.id} - object" for item in plan.objects)
    yield from (f"{item.id} - receptacle" for item in plan.receptacles)
    locations = dict.fromkeys([*(r.location for r in plan.receptacles), plan.start])
    yield from (f"{location} - location" for location in locations)


def _facts(plan: FloorPlan, census: Census) -> Iterator[str]:
    yield from (f"receptacleType {r.id} {r.kind}Type" for r in plan.receptacles)
    yield from (f"objectType {o.id} {o.kind}Type" for o in plan.objects)
    present = {o.kind for o in plan.objects}
    for kind in sorted({r.kind for r in plan.receptacles}):
        fitting = (name for name in census.fits.get(kind, ()) if name in present)
        yield from (f"canContain {kind}Type {name}Type" for name in fitting)
    yield from (f"openable {r.id}" for r in plan.receptacles if r.kind in OPENABLE)
    yield f"atLocation agent1 {plan.start}"
    for flag in _FLAG_ORDER:
        yield from (f"{flag} {o.id}" for o in plan.objects if flag in census.flags.get(o.kind, ()))
    yield from (f"inReceptacle {o.id} {o.inside}" for o in plan.objects)
    yield from (f"receptacleAtLocation {r.id} {r.location}" for r in plan.receptacles)
    yield from (f"objectAtLocation {o.id} {o.location}" for o in plan.objects)
