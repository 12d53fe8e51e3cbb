"""JSON from strangers: what neither our records nor PostgreSQL can hold is refused by name.

Refused: text that is not UTF-8, half surrogate pairs, the character NUL, NaN and infinities,
whole numbers beyond 64 bits, nesting deeper than 64, and more than 20,000 values, as a million of
them in the wrong place keep a process busy for half a minute.
"""

import math
import re
from typing import Any

from pydantic_core import from_json

from collegium.core import InvalidInputError

MAX_DEPTH = 64
MAX_VALUES = 20_000
_MAX_PLACE = 100
_TOP = "(top)"
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


def check_json(value: Any) -> None:
    """Raise InvalidInputError if anything inside `value` is refused, and say where it stands."""
    _Check().look_at(value, "", 0)


class _Check:
    """One look at everything inside a value."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def look_at(self, value: Any, place: str, depth: int) -> None:
        self._left -= 1
        if self._left < 0:
            raise InvalidInputError(f"more than {MAX_VALUES} values; send less at a time")
        if depth > MAX_DEPTH:
            raise InvalidInputError(f"{place or _TOP}: nested deeper than {MAX_DEPTH}")
        if isinstance(value, dict):
            for key, inner in value.items():
                self.look_at(key, place, depth + 1)
                self.look_at(inner, _inside(place, key), depth + 1)
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                self.look_at(inner, _inside(place, index), depth + 1)
        elif problem := _problem(value):
            raise InvalidInputError(f"{place or _TOP}: {problem}")


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


def _inside(place: str, name: str | int) -> str:
    """Return the place of `name` at `place`, short enough to print, whoever wrote the names."""
    inner = str(name)[:_MAX_PLACE]
    return f"{place}.{inner}"[:_MAX_PLACE] if place else inner
