"""Which texts were erased, as the ledger records it, and erasing them again after a restore."""

import json
from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from collegium.core import CorruptDataError
from collegium.store import schema
from collegium.store.ledger.postgres import ERASURES, TEXTS_ERASED, PostgresLedger


class Erasures(NamedTuple):
    """The erasures of one ledger."""

    ledger: UUID
    fields: Mapping[int, frozenset[str]]
    """By position of the event whose texts they are."""


def recorded_erasures(connection: sa.Connection) -> Erasures:
    """Return all erasures that the ledger records; raises CorruptDataError if it has no head."""
    columns = schema.events.c
    query = sa.select(columns.payload).where(
        columns.stream == ERASURES, columns.type == TEXTS_ERASED
    )
    found: dict[int, frozenset[str]] = {}
    for position, fields in map(_read, connection.scalars(query)):
        found[position] = found.get(position, frozenset()) | fields
    ledger: UUID | None = connection.scalar(sa.select(schema.ledger.c.id))
    if ledger is None:
        raise CorruptDataError("the row that says where the ledger stands is gone")
    return Erasures(ledger, found)


def _read(payload: str) -> tuple[int, frozenset[str]]:
    """Return position and fields of an erasure; of one that was altered, no fields."""
    try:
        erasure = json.loads(payload)
        return int(erasure["position"]), frozenset(erasure["fields"])
    except (ValueError, KeyError, TypeError):
        return 0, frozenset()


def erase_again(ledger: PostgresLedger, erasures: Erasures) -> int:
    """Erase what is there although it was erased; returns the number of texts.

    Nothing is done to another ledger, whose positions mean other events.
    """
    with ledger.database.connection() as connection:
        if recorded_erasures(connection).ledger != erasures.ledger:
            return 0
    count = 0
    for position, fields in sorted(erasures.fields.items()):
        there = ledger.texts(position)
        back = sorted(field for field in fields if there.get(field) is not None)
        if back:
            ledger.erase(position, back)
            count += len(back)
    return count
