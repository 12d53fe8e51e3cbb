"""Who holds a key: looked up in the database, remembered for 30 s at most.

Expiry and the end of a rotated secret are judged at each call, not at each lookup. When the
database is away, keys looked up lately still open doors; all others get UnavailableError, never a
wrong refusal.
"""

from collections import OrderedDict
from typing import NamedTuple

import anyio

from collegium.core import Clock, UnauthenticatedError
from collegium.service.operations import Caller, Scope
from collegium.service.tokens import Token, parse_token
from collegium.store.keys import KeyRow, KeyStore

REMEMBER_S = 30.0
"""Half of the minute within which a revoked key is refused everywhere."""
_MAX_REMEMBERED = 10_000
_LOOKUPS_AT_ONCE = 3
"""A flood of unknown keys takes no more of the database's connections."""
_REFUSED = "this key is unknown, revoked or expired; ask for another"


class _Remembered(NamedTuple):
    row: KeyRow
    at: float


class KeyRing:
    """Keys as one process knows them."""

    def __init__(self, store: KeyStore, clock: Clock) -> None:
        """Know none yet."""
        self._store = store
        self._clock = clock
        self._remembered: OrderedDict[str, _Remembered] = OrderedDict()
        self._threads = anyio.CapacityLimiter(_LOOKUPS_AT_ONCE)

    async def identify(self, token: str | None) -> Caller:
        """Return the caller; raises UnauthenticatedError or UnavailableError."""
        parsed = parse_token(token)
        found = self._remembered.get(parsed.key_id)
        if found is None or self._clock.monotonic() - found.at >= REMEMBER_S:
            found = await self._look_up(parsed.key_id)
        if not self._opens(parsed, found.row):
            raise UnauthenticatedError(_REFUSED)
        return _caller(found.row)

    async def _look_up(self, key_id: str) -> _Remembered:
        # The time before the question: the answer may be as old as that.
        asked = self._clock.monotonic()
        row = await anyio.to_thread.run_sync(self._store.find, key_id, limiter=self._threads)
        self._remembered.pop(key_id, None)
        if row is None:
            raise UnauthenticatedError(_REFUSED)
        found = self._remembered[key_id] = _Remembered(row, asked)
        if len(self._remembered) > _MAX_REMEMBERED:
            self._remembered.popitem(last=False)
        return found

    def _opens(self, token: Token, row: KeyRow) -> bool:
        now = self._clock.now()
        if row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now):
            return False
        if token.matches(row.hash):
            return True
        old, until = row.previous_hash, row.previous_until
        return old is not None and until is not None and now < until and token.matches(old)


def _caller(row: KeyRow) -> Caller:
    return Caller(
        key_id=row.key_id,
        scopes=frozenset(map(Scope, row.scopes)),
        namespaces=None if row.namespaces is None else frozenset(row.namespaces),
        calls_per_minute=row.calls_per_minute,
    )
