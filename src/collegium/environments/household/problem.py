"""The PDDL problem of a game: typed ids, facts and one of six goals.

This is no PDDL parser. It reads the one layout that ALFWorld's games have and refuses anything
else, naming the line. Facts are checked against the domain's signatures.
"""

import re
from typing import NamedTuple, NoReturn

from collegium.environments.household.formats import corrupt
from collegium.environments.household.goals import TaskType

_SIGNATURES = {
    "canContain": ("rtype", "otype"),
    "receptacleType": ("receptacle", "rtype"),
    "objectType": ("object", "otype"),
    "receptacleAtLocation": ("receptacle", "location"),
    "objectAtLocation": ("object", "location"),
    "atLocation": ("agent", "location"),
    "inReceptacle": ("object", "receptacle"),
    "inReceptacleObject": ("object", "object"),
    "openable": ("receptacle", ""),
    **dict.fromkeys(
        (
            "pickupable",
            "cleanable",
            "heatable",
            "coolable",
            "toggleable",
            "sliceable",
            "isReceptacleObject",
            "isCool",
        ),
        ("object", ""),
    ),
}

_HEADER = re.compile(r"\s*\(define \(problem \w+\)\s*\(:domain alfred\)\s*\(:objects(?=\s)")
# The last group of both catches whatever is neither a declaration nor a fact.
_DECLARATION = re.compile(
    r"\s*(?:(\w+) - (agent|object|otype|rtype|receptacle|location)(?!\S)|(\S+))"
)
_FACT = re.compile(r"\s*(?:\((\w+) (\w+)(?: (\w+))?\)(?![^\s()])|(\S+))")

_TREATED = (
    "(exists (?r - receptacle) (exists (?o - object) (and ({0}able ?o) (objectType ?o OBJECT)"
    " (receptacleType ?r TARGET) ({1} ?o) (inReceptacle ?o ?r) ) ) )"
)
GOAL_TEMPLATES = {
    TaskType.LOOK_AT: (
        "(exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and"
        " (objectType ?ot TARGET) (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l)"
        " (atLocation ?a ?l) (inReceptacle ?ot ?r) ) ) (exists (?o - object ?a - agent)"
        " (and (objectType ?o OBJECT) (holds ?a ?o) ) )"
    ),
    TaskType.PICK_AND_PLACE: (
        "(exists (?r - receptacle) (exists (?o - object) (and (inReceptacle ?o ?r)"
        " (objectType ?o OBJECT) (receptacleType ?r TARGET) ) ) )"
    ),
    TaskType.PICK_TWO: (
        "(exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 OBJECT)"
        " (receptacleType ?r TARGET) (inReceptacle ?o1 ?r) (exists (?o2 - object) (and"
        " (not (= ?o1 ?o2)) (objectType ?o2 OBJECT) (receptacleType ?r TARGET)"
        " (inReceptacle ?o2 ?r) ) ) ) ) )"
    ),
    TaskType.CLEAN: _TREATED.format("clean", "isClean"),
    TaskType.HEAT: _TREATED.format("heat", "isHot"),
    TaskType.COOL: _TREATED.format("cool", "isCool"),
}
"""What follows `(:goal (and ` in the six kinds of goal, with OBJECT and TARGET for the types."""


def _goal_pattern(template: str) -> re.Pattern[str]:
    """Return a pattern of the whole goal section; a type named twice must repeat."""
    text = re.escape(f"(:goal (and {template} ) ) )")
    for name in ("OBJECT", "TARGET"):
        text = text.replace(name, rf"(?P<{name.lower()}>\w+)", 1).replace(
            name, f"(?P={name.lower()})"
        )
    return re.compile(text)


_GOAL_PATTERNS = {task_type: _goal_pattern(text) for task_type, text in GOAL_TEMPLATES.items()}

Fact = tuple[str, str]
"""Arguments of a fact; the second is empty for properties."""


class PddlGoal(NamedTuple):
    """Which of the six goals, over which PDDL types (`AppleType`, `FridgeType`)."""

    task_type: TaskType
    object_type: str
    target_type: str


class Problem(NamedTuple):
    """A parsed problem; ids and types are as in the text."""

    facts: dict[str, list[Fact]]
    """Predicate -> distinct facts in file order; every known predicate has an entry."""
    sorts: dict[str, str]
    """Id -> declared PDDL sort (`object`, `receptacle`, `location`, ...)."""
    goal: PddlGoal


def parse_problem(text: str, source: str) -> Problem:
    """Read the PDDL problem `text`.

    Raises:
        CorruptDataError: With `source` and the line, if the text is not laid out like ALFWorld's.
    """
    header = _HEADER.match(text)
    if not header:
        _fail(text, 0, source, "does not begin like an ALFWorld problem")
    init, goal = text.find("(:init", header.end()), text.find("(:goal", header.end())
    if init < 0 or goal < init:
        _fail(text, len(text), source, "ends before its sections :init and :goal")
    sorts = _parse_declarations(text, header.end(), init, source)
    facts = _parse_facts(text, init + len("(:init"), goal, sorts, source)
    return Problem(facts, sorts, _parse_goal(text, goal, sorts, source))


def _parse_declarations(text: str, start: int, end: int, source: str) -> dict[str, str]:
    end = _closing(text, start, end, source)
    sorts = {}
    for name, sort, garbage in _DECLARATION.findall(text, start, end):
        if garbage:
            _fail(text, text.find(garbage, start), source, f"unreadable declaration {garbage!r}")
        sorts[name] = sort
    return sorts


def _parse_facts(
    text: str, start: int, end: int, sorts: dict[str, str], source: str
) -> dict[str, list[Fact]]:
    end = _closing(text, start, end, source)
    facts: dict[str, list[Fact]] = {name: [] for name in _SIGNATURES}
    sort_of = {**sorts, "": ""}.get
    for name, first, second, garbage in dict.fromkeys(_FACT.findall(text, start, end)):
        if (sort_of(first), sort_of(second)) != _SIGNATURES.get(name):
            written = garbage or f"({name} {first} {second}".rstrip() + ")"
            _fail(text, text.find(written, start), source, f"unknown fact {written}")
        facts[name].append((first, second))
    return facts


def _closing(text: str, start: int, end: int, source: str) -> int:
    """Return the offset of the parenthesis that closes the section before `end`."""
    closing = text.rfind(")", start, end)
    if closing < 0 or text[closing + 1 : end].strip():
        _fail(text, end, source, "the section before this line is not closed")
    return closing


def _parse_goal(text: str, start: int, sorts: dict[str, str], source: str) -> PddlGoal:
    section = " ".join(text[start:].split())
    for task_type, pattern in _GOAL_PATTERNS.items():
        if match := pattern.fullmatch(section):
            goal = PddlGoal(task_type, match["object"], match["target"])
            target_sort = "otype" if task_type is TaskType.LOOK_AT else "rtype"
            if (sorts.get(goal.object_type), sorts.get(goal.target_type)) != ("otype", target_sort):
                _fail(text, start, source, "goal over undeclared types")
            return goal
    _fail(text, start, source, "none of the six known goals")


def _fail(text: str, offset: int, source: str, problem: str) -> NoReturn:
    corrupt(source, f"pddl_problem line {text.count(chr(10), 0, offset) + 1}", problem)
