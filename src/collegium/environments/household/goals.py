"""What a household goal asks for, read from its one sentence.

Every wording of the official games is understood, with or without the leading "Your task is to:",
and so are the older ones ("find some apple and put it in sidetable."). Object and destination
are type names as observations write them, without numbers: `desklamp`, `countertop`.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from collegium.core.errors import InvalidInputError


class TaskType(StrEnum):
    """The six kinds of household task."""

    PICK_AND_PLACE = "pick_and_place_simple"
    PICK_TWO = "pick_two_obj_and_place"
    LOOK_AT = "look_at_obj_in_light"
    CLEAN = "pick_clean_then_place_in_recep"
    HEAT = "pick_heat_then_place_in_recep"
    COOL = "pick_cool_then_place_in_recep"


@dataclass(frozen=True, slots=True)
class Goal:
    """What has to become true.

    `destination` is the receptacle type to end in or, for `LOOK_AT`, the lamp type to use.
    """

    task_type: TaskType
    object: str
    destination: str
    count: int
    """How many objects of the type: 2 for `PICK_TWO`, else 1. Both go to one receptacle."""


_TREATMENTS = {"clean": TaskType.CLEAN, "hot": TaskType.HEAT, "cool": TaskType.COOL}
_VERBS = {"clean": TaskType.CLEAN, "heat": TaskType.HEAT, "cool": TaskType.COOL}
_PREFIX = re.compile(r"^your task is to:\s*", re.IGNORECASE)
_WORD = r"[a-z]+"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:look at|examine)(?: the| a| some)? (?P<object>{_WORD})"
        rf" (?:under|with)(?: the| a)? (?P<lamp>{_WORD})",
        rf"put (?P<two>two) (?P<object>{_WORD}) (?:in/on|in|on) (?P<place>{_WORD})",
        rf"find (?P<two>two) (?P<object>{_WORD}) and put them (?:in/on|in|on) (?P<place>{_WORD})",
        rf"(?P<verb>clean|heat|cool|find) (?:some|a) (?P<object>{_WORD})"
        rf" and put it (?:in/on|in|on) (?P<place>{_WORD})",
        rf"put (?:a|some) (?:(?P<treated>clean|hot|cool) )?(?P<object>{_WORD})"
        rf" (?:in/on|in|on) (?P<place>{_WORD})",
    )
)


def parse_goal(text: str) -> Goal:
    """Return the goal that `text` states.

    Raises:
        InvalidInputError: If the sentence is none of the known wordings.
    """
    sentence = _PREFIX.sub("", text.strip()).rstrip(". ").lower()
    for pattern in _PATTERNS:
        if match := pattern.fullmatch(sentence):
            return _goal({k: v for k, v in match.groupdict().items() if v})
    raise InvalidInputError(
        f"cannot read the goal {text!r}: expected a household sentence such as "
        "'put a hot apple in fridge.' or 'look at book under the desklamp.'"
    )


def _goal(found: dict[str, str]) -> Goal:
    if "lamp" in found:
        return Goal(TaskType.LOOK_AT, found["object"], found["lamp"], 1)
    if "two" in found:
        return Goal(TaskType.PICK_TWO, found["object"], found["place"], 2)
    task_type = _VERBS.get(found.get("verb", "")) or _TREATMENTS.get(found.get("treated", ""))
    return Goal(task_type or TaskType.PICK_AND_PLACE, found["object"], found["place"], 1)
