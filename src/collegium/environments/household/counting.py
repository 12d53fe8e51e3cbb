"""Make the packaged census from the official train games.

python -m collegium.environments.household.counting "$ALFWORLD_DATA"
"""

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from collegium.core.errors import NotFoundError
from collegium.environments.household.census import FILE, Census, Habit, RoomCensus, room_of

_FACT = re.compile(r"\(([A-Za-z]+) ([^()]*?)\)")
_DECLARED = re.compile(r"(\w+)Type - (otype|rtype)\b")
_FLAGS = (
    *("pickupable", "isReceptacleObject", "cleanable", "heatable", "coolable"),
    *("toggleable", "sliceable"),
)


class _House(NamedTuple):
    """The facts of one game file."""

    goal: tuple[str, str, str]
    floor_plan: str
    receptacles: Mapping[str, str]
    objects: Mapping[str, str]
    inside: tuple[tuple[str, str], ...]
    flags: tuple[tuple[str, str], ...]
    fits: frozenset[tuple[str, str]]
    declared: tuple[tuple[str, str], ...]


def _read(path: Path) -> _House:
    problem = json.loads(path.read_text(encoding="utf-8"))["pddl_problem"]
    facts: dict[str, list[list[str]]] = defaultdict(list)
    declarations, _, body = problem.partition("(:init")
    for name, arguments in _FACT.findall(body.partition("(:goal")[0]):
        facts[name].append(arguments.split())
    task_type, kind, _, target, floor_plan = path.parent.parent.name.split("-")
    objects = {name: kind.removesuffix("Type") for name, kind in facts["objectType"]}
    return _House(
        (task_type, kind, target),
        floor_plan,
        {name: kind.removesuffix("Type") for name, kind in facts["receptacleType"]},
        objects,
        tuple((a, b) for a, b in facts["inReceptacle"]),
        tuple(
            (objects[name], flag) for flag in _FLAGS for (name,) in facts[flag] if name in objects
        ),
        frozenset((r[:-4], o[:-4]) for r, o in facts["canContain"]),
        tuple(_DECLARED.findall(declarations)),
    )


def count(root: Path) -> Census:
    """Count all train games below `root` (the folder that holds `json_2.1.1`).

    Raises:
        NotFoundError: If there are none.
    """
    paths = sorted((root / "json_2.1.1" / "train").glob("*/*/game.tw-pddl"))
    if not paths:
        raise NotFoundError(f"no train games below {root}: set ALFWORLD_DATA to the data's folder")
    by_room: dict[str, list[_House]] = defaultdict(list)
    for house in map(_read, paths):
        by_room[room_of(house.receptacles.values())].append(house)
    houses = [house for room in by_room.values() for house in room]
    declared = {pair for house in houses for pair in house.declared}
    return Census(
        games=len(houses),
        rooms={room: _room(by_room[room]) for room in sorted(by_room)},
        flags=_grouped(pair for house in houses for pair in house.flags),
        fits=_grouped(pair for house in houses for pair in house.fits),
        object_types=tuple(sorted(name for name, kind in declared if kind == "otype")),
        receptacle_types=tuple(sorted(name for name, kind in declared if kind == "rtype")),
    )


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for key, value in pairs:
        groups[key].add(value)
    return {key: tuple(sorted(groups[key])) for key in sorted(groups)}


def _room(houses: list[_House]) -> RoomCensus:
    layouts = {house.floor_plan: Counter(house.receptacles.values()) for house in houses}
    goals: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for house in houses:
        goals[house.goal[0]].add(house.goal[1:])
    return RoomCensus(
        games=len(houses),
        layouts=tuple(dict(sorted(layouts[plan].items())) for plan in sorted(layouts)),
        objects=_habits(houses),
        goals={task_type: tuple(sorted(goals[task_type])) for task_type in sorted(goals)},
    )


def _habits(houses: list[_House]) -> dict[str, Habit]:
    games: Counter[str] = Counter()
    placed: Counter[str] = Counter()
    hits: dict[str, Counter[str]] = defaultdict(Counter)
    offered: dict[str, Counter[str]] = defaultdict(Counter)
    for house in houses:
        seen = {(house.objects[name], receptacle) for name, receptacle in house.inside}
        furniture = Counter(house.receptacles.values())
        for kind in {kind for kind, _ in seen}:
            games[kind] += 1
            offered[kind].update(furniture)
        placed.update(house.objects[name] for name in {name for name, _ in house.inside})
        for kind, receptacle in seen:
            hits[kind][house.receptacles[receptacle]] += 1
    return {
        kind: Habit(
            games=games[kind],
            placed=placed[kind],
            places={r: (n, offered[kind][r]) for r, n in sorted(hits[kind].items())},
        )
        for kind in sorted(games)
    }


def main(arguments: list[str]) -> None:
    """Write the census of the games below the given folder beside this module."""
    census = count(Path(arguments[0]))
    text = json.dumps(census.model_dump(mode="json"), separators=(",", ":"), sort_keys=True)
    Path(__file__).with_name(FILE).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
