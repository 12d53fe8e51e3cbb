"""The ledger on PostgreSQL. Appending is one call of `collegium.ledger_append` (migration 0001)."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import Any, LiteralString
from uuid import UUID

import sqlalchemy as sa

from collegium.core import Clock, InvalidInputError, NotFoundError, SystemClock, content_id, uuid7
from collegium.store import schema
from collegium.store.database import Database, driver_cursor
from collegium.store.ledger.canonical import canonical_payload, read_payload, time_text
from collegium.store.ledger.events import Event, NewEvent
from collegium.store.ledger.protocol import MAX_BATCH
from collegium.store.ledger.upcasting import Upcasters

ERASURES = "ledger/erasures"
"""The stream that records which texts were erased."""
TEXTS_ERASED = "texts.erased"
Entropy = Callable[[int], bytes]
"""Gives that many bytes nobody can guess."""

_APPEND = (
    "select * from collegium.ledger_append(%s, %s::bigint, %s, %s::uuid, %s, %s, %s, "
    "%s::timestamptz, %s, %s::jsonb, %s)"
)
_APPEND_BATCH = "select * from collegium.ledger_append_batch(%s::jsonb, %s)"
_COLUMNS = schema.events.columns.keys()
_SALT = 32
_MAX_SENT = 1 << 25
"""Characters of one call; PostgreSQL takes 256 MiB of JSON."""


class PostgresLedger:
    """See `store.ledger.protocol.Ledger`; pickles as settings."""

    def __init__(
        self,
        database: Database,
        clock: Clock | None = None,
        upcasters: Upcasters | None = None,
        entropy: Entropy = os.urandom,
    ) -> None:
        """Append to `database`; `upcasters` bring old events to today's form when read."""
        self.database = database
        self._clock = clock or SystemClock()
        self._upcasters = upcasters or Upcasters()
        self._entropy = entropy

    def append(self, event: NewEvent, expected_version: int | None = None) -> Event:
        """See `Ledger.append`."""
        entry = self._entry(event)
        stream, *rest, texts = entry.values()
        arguments = (stream, expected_version, *rest, _json(texts) if texts else "{}")
        with self.database.autocommit() as connection:
            return self._called(connection, _APPEND, arguments)[0]

    def append_batch(self, events: Sequence[NewEvent]) -> list[Event]:
        """See `Ledger.append_batch`."""
        with self.database.autocommit() as connection:
            return self.append_in(connection, events)

    def append_in(self, connection: sa.Connection, events: Sequence[NewEvent]) -> list[Event]:
        """Append as a part of the caller's transaction, which should end soon and appends once.

        Until it ends no other append in the whole ledger can, so do this last.
        """
        if len(events) > MAX_BATCH:
            raise InvalidInputError(f"{len(events)} events in a batch, at most {MAX_BATCH}")
        entries = [self._entry(event) for event in events]
        return self._called(connection, _APPEND_BATCH, (_json(entries),)) if entries else []

    def read(self, after: int, limit: int = MAX_BATCH, streams: str = "") -> list[Event]:
        """See `Ledger.read`."""
        columns = schema.events.c
        query = sa.select(schema.events).where(columns.position > after)
        if streams:
            query = query.where(columns.stream.startswith(streams, autoescape=True))
        with self.database.autocommit() as connection:
            return self._events(connection, query.order_by(schema.events.c.position), limit)

    def stream(self, name: str, after_version: int = 0, limit: int = MAX_BATCH) -> list[Event]:
        """See `Ledger.stream`."""
        with self.database.autocommit() as connection:
            return self.stream_in(connection, name, after_version, limit)

    def stream_in(
        self, connection: sa.Connection, name: str, after_version: int, limit: int = MAX_BATCH
    ) -> list[Event]:
        """Read a stream as a part of the caller's transaction."""
        columns = schema.events.c
        query = sa.select(schema.events).where(
            columns.stream == name, columns.version > after_version
        )
        return self._events(connection, query.order_by(columns.version), limit)

    def find(self, stream: str, idempotency_key: str) -> Event | None:
        """See `Ledger.find`."""
        columns = schema.events.c
        query = sa.select(schema.events).where(
            columns.stream == stream, columns.idempotency_key == idempotency_key
        )
        with self.database.autocommit() as connection:
            return next(iter(self._events(connection, query, 1)), None)

    def version(self, stream: str, as_of: int) -> int:
        """See `Ledger.version`."""
        columns = schema.events.c
        query = sa.select(columns.version).where(
            columns.stream == stream, columns.position <= as_of
        )
        with self.database.autocommit() as connection:
            newest = query.order_by(columns.version.desc()).limit(1)
            return int(connection.scalar(newest) or 0)

    def position(self) -> int:
        """See `Ledger.position`."""
        with self.database.autocommit() as connection:
            return int(connection.scalar(sa.select(schema.ledger.c.position)) or 0)

    def identity(self) -> UUID:
        """See `Ledger.identity`."""
        with self.database.autocommit() as connection:
            known: UUID = connection.execute(sa.select(schema.ledger.c.id)).scalar_one()
            return known

    def texts(self, position: int) -> Mapping[str, str | None]:
        """See `Ledger.texts`."""
        table = schema.texts.c
        query = sa.select(table.field, table.text).where(table.position == position)
        with self.database.autocommit() as connection:
            return {row.field: row.text for row in connection.execute(query)}

    def erase(self, position: int, fields: Sequence[str] | None = None) -> Event:
        """See `Ledger.erase`."""
        with self.database.transaction() as connection:
            return self.erase_in(connection, position, fields)

    def erase_in(
        self, connection: sa.Connection, position: int, fields: Sequence[str] | None = None
    ) -> Event:
        """Erase as a part of the caller's transaction; see `append_in` for what that asks of it."""
        table = schema.texts.c
        mine = table.position == position
        query = sa.select(table.field).where(mine).order_by(table.field)
        known = list(connection.scalars(query))
        erased = known if fields is None else sorted(set(fields))
        if not erased or not set(erased) <= set(known):
            raise NotFoundError(
                f"event {position} has no text {', '.join(erased) or 'at all'}; "
                f"it has: {', '.join(known) or 'none'}"
            )
        chosen = sa.and_(mine, table.field.in_(erased))
        connection.execute(sa.update(schema.texts).where(chosen).values(salt=None, text=None))
        return self.append_in(connection, [self._erasure(position, erased)])[0]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as settings."""
        return type(self), (self.database, self._clock, self._upcasters, self._entropy)

    def _erasure(self, position: int, fields: list[str]) -> NewEvent:
        return NewEvent(
            stream=ERASURES,
            type=TEXTS_ERASED,
            payload={"position": position, "fields": fields},
            observed_at=self._clock.now(),
            idempotency_key=f"{position}:{content_id(fields)}",
        )

    def _entry(self, event: NewEvent) -> dict[str, Any]:
        """Return the arguments of the server's functions, in their order."""
        salted = {field: (self._entropy(_SALT), text) for field, text in event.texts.items()}
        commitments = {field: commitment(*one) for field, one in salted.items()}
        return {
            "stream": event.stream,
            "idempotency_key": event.idempotency_key,
            "id": str(uuid7(self._clock.now(), self._entropy(10))),
            "type": event.type,
            "schema_version": event.schema_version,
            "payload": canonical_payload(event.payload),
            "observed_at": time_text(event.observed_at),
            "commitments": canonical_payload(commitments) if commitments else "{}",
            "texts": {f: {"salt": salt.hex(), "text": text} for f, (salt, text) in salted.items()},
        }

    def _called(
        self, connection: sa.Connection, call: LiteralString, arguments: tuple[Any, ...]
    ) -> list[Event]:
        """Call one of the server's functions, with the time as the last argument."""
        with driver_cursor(connection) as cursor:
            rows = cursor.execute(call, (*arguments, self._clock.now())).fetchall()
        return [self._event(dict(zip(_COLUMNS, row, strict=True))) for row in rows]

    def _events(self, connection: sa.Connection, query: sa.Select[Any], limit: int) -> list[Event]:
        if not 1 <= limit <= MAX_BATCH:
            raise InvalidInputError(f"limit {limit}: expected 1 … {MAX_BATCH}")
        return [self._event(row._asdict()) for row in connection.execute(query.limit(limit))]

    def _event(self, row: Mapping[str, Any]) -> Event:
        version, payload = self._upcasters.upcast(
            row["type"], row["schema_version"], read_payload(row["payload"])
        )
        committed = row["commitments"]
        return Event(
            id=row["id"],
            position=row["position"],
            stream=row["stream"],
            version=row["version"],
            type=row["type"],
            schema_version=version,
            payload=payload,
            observed_at=row["observed_at"].astimezone(UTC),
            recorded_at=row["recorded_at"].astimezone(UTC),
            idempotency_key=row["idempotency_key"],
            commitments=read_payload(committed) if committed != "{}" else {},
            hash=bytes(row["hash"]),
        )


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _MAX_SENT:
        raise InvalidInputError(
            f"{len(text)} characters at once, at most {_MAX_SENT}: append fewer events, or store "
            "the texts elsewhere"
        )
    return text


def commitment(salt: bytes, text: str) -> str:
    """Return what the chain holds of a personal text: SHA-256 of salt and text, in hex."""
    return hashlib.sha256(salt + text.encode()).hexdigest()
