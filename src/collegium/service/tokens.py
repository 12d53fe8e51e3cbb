"""A key as text: `clg_`, the 12 hex digits of its id, `_`, and the 64 of its secret (256 bits).

The secret is random and long, so a plain SHA-256 of it is safe to store: there is nothing that a
slow hash would make harder to guess.
"""

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import NamedTuple

from collegium.core import UnauthenticatedError

_ID_BYTES = 6
_SECRET_BYTES = 32
_FORM = re.compile(r"clg_([0-9a-f]{12})_([0-9a-f]{64})")

KEY_IN_TEXT = re.compile(r"(clg_[0-9a-f]{12}_)[0-9a-f]+")
"""Finds keys in text that was not meant to hold any; group 1 may be shown."""

Entropy = Callable[[int], bytes]
"""Returns that many random bytes, such as `secrets.token_bytes`."""


class Token(NamedTuple):
    """A key in the clear: never stored, never logged."""

    key_id: str
    secret: str

    def __str__(self) -> str:
        return f"clg_{self.key_id}_{self.secret}"

    def __repr__(self) -> str:
        return f"Token({self.key_id})"

    @property
    def hash(self) -> bytes:
        """What is stored: 32 bytes."""
        return hashlib.sha256(self.secret.encode()).digest()

    def matches(self, stored: bytes) -> bool:
        """Return whether `stored` is its hash, in a time that tells nothing."""
        return hmac.compare_digest(self.hash, stored)


def new_token(entropy: Entropy, key_id: str | None = None) -> Token:
    """Return a new token, by default with a new id."""
    return Token(key_id or entropy(_ID_BYTES).hex(), entropy(_SECRET_BYTES).hex())


def parse_token(text: str | None) -> Token:
    """Return the token; raises UnauthenticatedError if there is none or it cannot be one."""
    if text is None:
        raise UnauthenticatedError("no key; send one as `Authorization: Bearer clg_…`")
    match = _FORM.fullmatch(text)
    if match is None:
        raise UnauthenticatedError("not a key of this service; one looks like clg_<id>_<secret>")
    return Token(match[1], match[2])
