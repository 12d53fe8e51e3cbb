"""Minting, listing, rotating and revoking keys: for admins, at the command line and over HTTP.

An admin key that is held to namespaces sees and makes only keys within them. The command line is
the operator's own door and makes the first admin key.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from collegium.core import Clock, ConflictError, ForbiddenError, NotFoundError, Record, SystemClock
from collegium.service.operations import Call, Caller, Input, Namespace, Scope
from collegium.service.tokens import Entropy, Token, new_token
from collegium.store.database import Database
from collegium.store.keys import KeyRow, KeyStore
from collegium.store.settings import DatabaseSettings

OPERATOR = Caller("operator", frozenset({Scope.ADMIN}), None, 1)
"""Whoever can reach the database from the command line."""

KeyId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]


class MintInput(Input):
    """What the new key shall be good for."""

    label: str = Field(default="", max_length=100)
    """Who holds it, for people to read."""
    scopes: frozenset[Scope] = Field(min_length=1)
    """`read`, `write`, `admin`; none of the first two brings the other, admin brings both."""
    namespaces: frozenset[Namespace] | None = Field(min_length=1, max_length=1000)
    """The namespaces it is good for; null: all."""
    calls_per_minute: int = Field(default=600, ge=1, le=1_000_000)
    """How often it may be used."""
    expires_in_days: float | None = Field(default=None, gt=0, le=36_500)
    """When it ends; null: not by itself."""

    @field_validator("label")
    @classmethod
    def _printable(cls, label: str) -> str:
        if not label.isprintable():  # an operator's terminal would obey some of these
            raise ValueError("holds characters that cannot be printed, such as control characters")
        return label


class ListKeysInput(Input):
    """Which page of the keys."""

    after: KeyId | None = None
    """`next` of the page before; none for the first."""
    limit: int = Field(default=50, ge=1, le=500)
    """Keys on a page."""


class RotateInput(Input):
    """Which key, and for how long its old secret still opens."""

    key_id: KeyId
    """The 12 digits after `clg_`."""
    grace_s: float = Field(default=0, ge=0, le=604_800)
    """Seconds, a week at most, in which the old secret stays good."""


class RevokeInput(Input):
    """Which key."""

    key_id: KeyId
    """The 12 digits after `clg_`."""


class KeyInfo(Record):
    """A key without its secret."""

    key_id: str
    label: str
    scopes: tuple[Scope, ...]
    namespaces: tuple[str, ...] | None
    calls_per_minute: int
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    previous_until: datetime | None
    """Until when the secret before the last rotation stays good."""


class MintedKey(Record):
    """A key with its secret, this once."""

    key: str
    """Keep it: it cannot be shown again."""
    info: KeyInfo


class KeyPage(Record):
    """Keys in the order of their ids."""

    items: tuple[KeyInfo, ...]
    next: str | None
    """Pass it as `after` for the next page; null: this is the last."""
    total: int


@contextmanager
def operator_keys(settings: DatabaseSettings) -> "Iterator[KeyService]":
    """Open the database for whoever operates it, and give its keys."""
    with closing(Database.open(settings)) as database:
        yield KeyService(KeyStore(database), SystemClock(), secrets.token_bytes)


class KeyService:
    """The use-cases of keys over one store."""

    def __init__(self, store: KeyStore, clock: Clock, entropy: Entropy) -> None:
        """Use `entropy` (such as `secrets.token_bytes`) for ids and secrets."""
        self._store = store
        self._clock = clock
        self._entropy = entropy

    def mint(self, call: Call, given: MintInput) -> MintedKey:
        """Make a key; raises ForbiddenError beyond the caller's namespaces."""
        _hold_within(call.caller, given.namespaces)
        now = self._clock.now()
        days = given.expires_in_days
        token = new_token(self._entropy)
        row = KeyRow(
            key_id=token.key_id,
            label=given.label,
            scopes=tuple(sorted(given.scopes)),
            namespaces=None if given.namespaces is None else tuple(sorted(given.namespaces)),
            calls_per_minute=given.calls_per_minute,
            hash=token.hash,
            created_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
        )
        self._store.insert(row)
        return _shown(token, row)

    def page(self, call: Call, given: ListKeysInput) -> KeyPage:
        """Return one page of the keys within the caller's namespaces."""
        rows, total = self._store.page(call.caller.namespaces, given.after, given.limit)
        more = len(rows) > given.limit
        shown = rows[: given.limit]
        return KeyPage(
            items=tuple(map(_info, shown)), next=shown[-1].key_id if more else None, total=total
        )

    def rotate(self, call: Call, given: RotateInput) -> MintedKey:
        """Give a key a new secret; raises NotFoundError, ForbiddenError or ConflictError."""
        if self._reach(call.caller, given.key_id).revoked_at is not None:
            raise ConflictError(f"key {given.key_id} is revoked for good; mint another")
        token = new_token(self._entropy, given.key_id)
        until = self._clock.now() + timedelta(seconds=given.grace_s)
        return _shown(token, self._store.rotate(given.key_id, token.hash, until))

    def revoke(self, call: Call, given: RevokeInput) -> KeyInfo:
        """End a key, at once and for good; raises NotFoundError or ForbiddenError."""
        self._reach(call.caller, given.key_id)
        return _info(self._store.revoke(given.key_id, self._clock.now()))

    def _reach(self, caller: Caller, key_id: str) -> KeyRow:
        row = self._store.find(key_id)
        if row is None:
            raise NotFoundError(f"no key {key_id}; `collegium key list` shows those there are")
        _hold_within(caller, row.namespaces)
        return row


def _hold_within(caller: Caller, namespaces: Sequence[str] | frozenset[str] | None) -> None:
    if caller.namespaces is None:
        return
    if namespaces is None or not caller.namespaces.issuperset(namespaces):
        raise ForbiddenError("this key reaches fewer namespaces than the one it is used on")


def _shown(token: Token, row: KeyRow) -> MintedKey:
    return MintedKey(key=str(token), info=_info(row))


def _info(row: KeyRow) -> KeyInfo:
    return KeyInfo.model_validate(row.model_dump(exclude={"hash", "previous_hash"}))
