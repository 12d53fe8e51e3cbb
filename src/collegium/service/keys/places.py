"""How many requests of one key may be arriving at once in a process.

A replica has a fixed number of places for requests, and a body that trickles holds one; no single
key gets them all.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from collegium.core import RateLimitedError


class Places:
    """Places held by key id."""

    def __init__(self, at_once: int) -> None:
        """Give each key `at_once` (>= 1) places."""
        self._at_once = at_once
        self._held: Counter[str] = Counter()

    @contextmanager
    def hold(self, key_id: str) -> Iterator[None]:
        """Hold a place; raises RateLimitedError if the key has all of its own."""
        if self._held[key_id] >= self._at_once:
            raise RateLimitedError(
                f"{self._at_once} requests of this key are arriving already; send fewer at once"
            )
        self._held[key_id] += 1
        try:
            yield
        finally:
            self._held[key_id] -= 1
            if not self._held[key_id]:
                del self._held[key_id]
