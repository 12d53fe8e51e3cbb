"""The canonical form of payloads: equal values have equal bytes, on every machine.

JSON in the spirit of RFC 8785, UTF-8, written by `core.canonical_json`:

- keys are strings, sorted by code point; no white space;
- strings escape only quote, backslash and control characters; lone surrogates are refused;
- integers are exact, of any size; floats take the shortest text that reads back as the same
  float, always with a point or an exponent (`1.0`, `1e-07`), so 1 and 1.0 stay different and -0.0
  keeps its sign; NaN and infinities are refused;
- times are strings: UTC, microseconds, `2026-01-31T12:00:00.000000Z`.

So `json.loads` gives back what was stored, and writing that gives the same bytes again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from collegium.core import InvalidInputError, canonical_json

MAX_PAYLOAD = 1 << 20
"""Bytes of a payload in its canonical form: larger things are named by their content hash."""
MAX_DEPTH = 64
"""Nesting of a payload."""
_SCALARS = frozenset((str, int, float, bool, type(None)))


def canonical_payload(value: Mapping[str, Any]) -> str:
    """Return the canonical text of a payload.

    Raises:
        InvalidInputError: Something in it has no canonical form; the message says where.
    """
    plain = _plain(value, "payload", MAX_DEPTH)
    try:
        text = canonical_json(plain)
        size = len(text.encode())
    except ValueError:
        found = "; ".join(_without_form(plain, "payload"))
        raise InvalidInputError(found.encode(errors="backslashreplace").decode()) from None
    if size > MAX_PAYLOAD:
        raise InvalidInputError(
            f"payload: {size} bytes, at most {MAX_PAYLOAD}: store the content elsewhere and name "
            "its hash"
        )
    return text


def read_payload(text: str) -> dict[str, Any]:
    """Return the payload whose canonical text this is; times stay strings."""
    payload: dict[str, Any] = json.loads(text)
    return payload


def time_text(at: datetime) -> str:
    """Return the canonical text of a time.

    Raises:
        InvalidInputError: It has no time zone, or lies before the year 1 or after 9999 in UTC.
    """
    if at.tzinfo is None:
        raise InvalidInputError(f"{at.isoformat()}: a time needs a time zone")
    try:
        at = at.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(f"{at.isoformat()}: out of range in UTC") from None
    return at.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def _plain(value: Any, place: str, depth: int) -> Any:
    """Return `value` of JSON's own types; only exact ones, so that nothing changes on the way."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, datetime):
        return time_text(value)
    if depth == 0:
        raise InvalidInputError(f"{place}: nested more than {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return {_key(k, place): _plain(v, f"{place}.{k}", depth - 1) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return [_plain(item, f"{place}[{i}]", depth - 1) for i, item in enumerate(value)]
    raise InvalidInputError(f"{place}: {type(value).__name__} has no canonical form")


def _key(key: Any, place: str) -> str:
    if type(key) is not str:
        raise InvalidInputError(f"{place}: the key {key!r} is no string")
    return key


def _without_form(value: Any, place: str) -> Iterator[str]:
    """Yield what in a plain value cannot be written, and why."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _without_form(key, f"{place}: a key")
            yield from _without_form(item, f"{place}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _without_form(item, f"{place}[{i}]")
    else:
        try:
            canonical_json(value).encode()
        except ValueError as error:
            yield f"{place}: no canonical form ({error})"
