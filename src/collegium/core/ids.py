"""Identity by content: equal content has one id on every machine; events get ids by time.

The canonical form is JSON with sorted keys, no spaces and UTF-8; floats use Python's shortest
round-trip form, and NaN and infinities are refused.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


def canonical_json(value: Json | BaseModel) -> str:
    """Return the one canonical JSON text of `value`; raises ValueError on NaN or infinity."""
    data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return _ENCODER.encode(data)


def content_id(value: Json | BaseModel, *, length: int = 32) -> str:
    """Return the first `length` hex digits of the SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]


def uuid7(at: datetime, random: bytes) -> UUID:
    """Return the UUID of version 7 (RFC 9562) for the time `at` and ten random bytes."""
    milliseconds = int(at.timestamp() * 1000)
    bits = int.from_bytes(random[:10], "big")
    top = milliseconds << 80 | 0x7 << 76 | bits >> 68 << 64
    return UUID(int=top | 0b10 << 62 | bits & (1 << 62) - 1)
