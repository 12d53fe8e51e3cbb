"""Keys as rows: who may call, for what, until when. Secrets are here as hashes only."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from collegium.core import NotFoundError, Record
from collegium.store import schema
from collegium.store.database import Database

_KEYS = schema.keys.c


class KeyRow(Record):
    """A key as stored."""

    key_id: str
    label: str
    scopes: tuple[str, ...]
    namespaces: tuple[str, ...] | None
    """None: all."""
    calls_per_minute: int
    hash: bytes
    """SHA-256 of the secret."""
    previous_hash: bytes | None = None
    """That of the secret before the last rotation, good until `previous_until`."""
    previous_until: datetime | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class KeyStore:
    """The keys of a database; every method raises UnavailableError when it is away."""

    def __init__(self, database: Database) -> None:
        """Keep keys in `database`."""
        self._database = database

    def insert(self, row: KeyRow) -> None:
        """Add a new key."""
        with self._database.transaction() as connection:
            connection.execute(sa.insert(schema.keys).values(row.model_dump()))

    def find(self, key_id: str) -> KeyRow | None:
        """Return a key, None if there is none."""
        query = sa.select(schema.keys).where(_KEYS.key_id == key_id)
        with self._database.autocommit() as connection:
            found = connection.execute(query).one_or_none()
        return None if found is None else _row(found)

    def everything(self) -> list[KeyRow]:
        """Return all keys, by id."""
        query = sa.select(schema.keys).order_by(_KEYS.key_id)
        with self._database.autocommit() as connection:
            return [_row(found) for found in connection.execute(query)]

    def put_back(self, rows: Sequence[KeyRow]) -> None:
        """Make keys what `rows` say, whatever they are now; others stay as they are."""
        if not rows:
            return
        given = insert(schema.keys)
        changed = {c.name: given.excluded[c.name] for c in schema.keys.c if not c.primary_key}
        statement = given.on_conflict_do_update(index_elements=[_KEYS.key_id], set_=changed)
        with self._database.transaction() as connection:
            connection.execute(statement, [row.model_dump() for row in rows])

    def page(
        self, within: Iterable[str] | None, after: str | None, limit: int
    ) -> tuple[list[KeyRow], int]:
        """Return one page by id, and one key more if there is one; and how many there are in all.

        Args:
            within: Only keys that reach no other namespaces; None: all keys.
            after: Only keys with a larger id.
            limit: Keys on a page.
        """
        # A key for all namespaces has null there, and no array contains null.
        mine = sa.true() if within is None else _KEYS.namespaces.contained_by(sorted(within))
        later = sa.true() if after is None else _KEYS.key_id > after
        query = sa.select(schema.keys).where(mine, later).order_by(_KEYS.key_id).limit(limit + 1)
        count = sa.select(sa.func.count()).select_from(schema.keys).where(mine)
        with self._database.transaction() as connection:
            rows = [_row(found) for found in connection.execute(query)]
            return rows, int(connection.scalar(count) or 0)

    def rotate(self, key_id: str, new_hash: bytes, previous_until: datetime) -> KeyRow:
        """Replace the secret's hash, keeping the one before until then."""
        return self._change(
            key_id, hash=new_hash, previous_hash=_KEYS.hash, previous_until=previous_until
        )

    def revoke(self, key_id: str, at: datetime) -> KeyRow:
        """End a key; one revoked before keeps its time. Raises NotFoundError."""
        return self._change(key_id, revoked_at=sa.func.coalesce(_KEYS.revoked_at, at))

    def _change(self, key_id: str, **values: Any) -> KeyRow:
        statement = sa.update(schema.keys).where(_KEYS.key_id == key_id).values(values)
        with self._database.transaction() as connection:
            found = connection.execute(statement.returning(schema.keys)).one_or_none()
        if found is None:
            raise NotFoundError(f"no key {key_id}")
        return _row(found)


def _row(found: sa.Row[Any]) -> KeyRow:
    return KeyRow.model_validate(dict(found._mapping))
