"""JSON from strangers: what neither our records nor PostgreSQL can hold is refused by name.

Refused: text that is not UTF-8, half surrogate pairs, the character NUL, NaN and infinities,
whole numbers beyond 64 bits, and nesting deeper than 64.
"""

import math
import re
from typing import Any

from pydantic_core import from_json

from collegium.core import InvalidInputError

MAX_DEPTH = 64
_LARGEST = 2**63 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(body: bytes) -> Any:
    """Return the value that `body` says; raises InvalidInputError with line and column.

    What the value holds is checked when it is parsed as an input, whichever door it came through.
    """
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidInputError(f"the body is not JSON in UTF-8: {error}") from None


def check_json(value: Any, place: str = "", depth: int = 0) -> None:
    """Raise InvalidInputError if anything inside `value` is refused, and say where it stands."""
    if depth > MAX_DEPTH:
        raise InvalidInputError(f"{_start(place)}: nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        for key, inner in value.items():
            check_json(key, place, depth + 1)
            check_json(inner, f"{place}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            check_json(inner, f"{place}.{index}", depth + 1)
    elif problem := _problem(value):
        raise InvalidInputError(f"{_start(place)}: {problem}")


def _problem(value: Any) -> str | None:
    if isinstance(value, str):
        if "\0" in value:
            return "holds the character NUL (\\u0000), which cannot be stored; leave it out"
        if _SURROGATE.search(value):
            return "holds half a surrogate pair, which is not a character"
    elif isinstance(value, float):
        return None if math.isfinite(value) else "is not a finite number"
    elif isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        return "is a whole number beyond 64 bits"
    return None


def _start(place: str) -> str:
    """Return a place short enough to print, whoever wrote its names."""
    return place.removeprefix(".")[:100] or "(top)"
