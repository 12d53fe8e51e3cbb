"""Signed checkpoints: what the ledger's streams looked like at a position.

A checkpoint's document is canonical JSON: its number (from 1), the position it covers, the heads
(version and hash) of all streams that moved since the checkpoint before, the SHA-256 of that one's
document, the ledger's id, the time, and the name of the key. So the newest document covers all
heads through its chain, and writing one costs only what is new.

Before anything is signed, the events since the last checkpoint are verified, the key must have
signed that one, and the anchor beside the key must be in the database.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from collegium.core import (
    Clock,
    CorruptDataError,
    Record,
    SystemClock,
    canonical_json,
)
from collegium.store import schema
from collegium.store.database import Database
from collegium.store.ledger.canonical import time_text
from collegium.store.ledger.scan import END, Head, Scan, rows_between
from collegium.store.ledger.signing import KeyFolder, Signed, fingerprint, is_signed, sign

FORM = "collegium.checkpoint/1"
MAX_EVENTS = 100_000
"""Events that one checkpoint adds at most; of more, several are made."""
_LOCK = 0x6C656467
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)
"""What reading a document raises that is none of a checkpoint."""


class Checkpoint(NamedTuple):
    """A checkpoint as read."""

    number: int
    position: int
    ledger: UUID
    previous: str
    heads: Mapping[str, Head]
    """Of the streams that moved since the checkpoint before."""
    signed: Signed

    @classmethod
    def read(cls, signed: Signed) -> "Checkpoint":
        """Return the checkpoint of a document; raises an error of `_UNREADABLE` if it is none."""
        data = json.loads(signed.document)
        if data["form"] != FORM:
            raise ValueError(f"unknown form {data['form']!r}")
        return cls(
            number=data["number"],
            position=data["position"],
            ledger=UUID(data["ledger"]),
            previous=data["previous"],
            heads={s: Head(v, bytes.fromhex(h)) for s, (v, h) in data["heads"].items()},
            signed=signed,
        )


class CheckpointInfo(Record):
    """A checkpoint that was just signed, or the one that is current."""

    number: int
    position: int
    signed_now: bool
    """Whether it is new; not when nothing happened since the last one."""


class Checkpointer:
    """Verifies what is new in the ledger and signs it."""

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        """Sign with the key in the folder that the database's settings name."""
        self._database = database
        self._clock = clock or SystemClock()
        self._keys = KeyFolder(database.settings.keys)

    def run(self) -> CheckpointInfo | None:
        """Sign all events up to now; None while the ledger is empty.

        Raises:
            CorruptDataError: What is new does not verify, or the database is older than the
                anchor: `collegium db verify` says what happened.
            ConfigError: The key folder cannot be used.
        """
        info = self._one()
        while info and info.signed_now and (more := self._one()) and more.signed_now:
            info = more
        return info

    def _one(self) -> CheckpointInfo | None:
        with self._database.transaction() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            last = last_checkpoint(connection)
            self._check_last(last)
            self._check_anchor(connection)
            position = connection.scalar(sa.select(schema.ledger.c.position)) or 0
            done = last.position if last else 0
            signed_now = position != done
            until = min(position, done + MAX_EVENTS)
            made = self._sign(connection, last, until) if signed_now else last
        if made is None:
            return None
        # Also if it is not new: the process that signed it may have been killed here.
        self._keys.set_anchor(made.signed, made.number)
        return CheckpointInfo(number=made.number, position=made.position, signed_now=signed_now)

    def _check_last(self, last: Checkpoint | None) -> None:
        if last is not None and not is_signed(self._keys.key(), last.signed):
            raise CorruptDataError(
                f"checkpoint {last.number} is not signed with the key in {self._keys.key_file}: "
                "nothing is signed; see `collegium db verify`"
            )

    def _check_anchor(self, connection: sa.Connection) -> None:
        anchor = read_anchor(self._keys)
        if anchor is None:
            return
        number = anchor.number
        column = schema.checkpoints.c
        kept = connection.scalar(sa.select(column.document).where(column.number == number))
        if kept != anchor.signed.document:
            raise CorruptDataError(
                f"the database does not hold checkpoint {number}, which is kept in "
                f"{self._keys.anchor_file}: nothing is signed; see `collegium db verify`"
            )

    def _sign(self, connection: sa.Connection, last: Checkpoint | None, until: int) -> Checkpoint:
        done = last.position if last else 0
        before = _heads_before(connection, done, until)
        scan = Scan(done, before)
        with closing(rows_between(connection, done, until)) as rows:
            scan.feed(rows, END)
        if scan.position != until or not scan.is_sound:
            raise CorruptDataError(
                f"events {done + 1} … {until} do not verify: nothing is signed; see "
                "`collegium db verify`"
            )
        moved = {s: h for s, h in scan.heads.items() if before.get(s) != h}
        key = self._keys.key(create=last is None)
        document: dict[str, Any] = {
            "form": FORM,
            "ledger": str(connection.scalar(sa.select(schema.ledger.c.id))),
            "number": last.number + 1 if last else 1,
            "position": until,
            "previous": document_hash(last.signed) if last else "",
            "heads": {s.decode(): [version, hash_.hex()] for s, (version, hash_) in moved.items()},
            "at": time_text(self._clock.now()),
            "key": fingerprint(key),
        }
        made = Checkpoint.read(sign(key, canonical_json(document)))
        connection.execute(sa.insert(schema.checkpoints).values(_row(made)))
        return made


def read_anchor(keys: KeyFolder) -> Checkpoint | None:
    """Return the checkpoint that is kept beside the key, None before the first.

    Raises:
        CorruptDataError: It is damaged.
    """
    kept = keys.anchor()
    try:
        return None if kept is None else Checkpoint.read(kept)
    except _UNREADABLE as error:
        raise CorruptDataError(f"{keys.anchor_file} holds no checkpoint: {error!r}") from None


def checkpoints(connection: sa.Connection) -> Iterator[Mapping[str, Any]]:
    """Yield all rows of checkpoints by number, unchecked."""
    query = sa.select(schema.checkpoints).order_by(schema.checkpoints.c.number)
    yield from (row._mapping for row in connection.execute(query))  # type: ignore[misc]


def last_checkpoint(connection: sa.Connection) -> Checkpoint | None:
    """Return the newest checkpoint in the database, unchecked.

    Raises:
        CorruptDataError: It cannot be read.
    """
    query = sa.select(schema.checkpoints).order_by(schema.checkpoints.c.number.desc()).limit(1)
    row = connection.execute(query).first()
    if row is None:
        return None
    try:
        return Checkpoint.read(signed_of(row._mapping))  # type: ignore[arg-type]
    except _UNREADABLE as error:
        raise CorruptDataError(
            f"checkpoint {row.number} cannot be read ({error}); see `collegium db verify`"
        ) from None


def signed_of(row: Mapping[str, Any]) -> Signed:
    """Return document and signature of a row."""
    return Signed(document=row["document"], signature=bytes(row["signature"]).hex())


def document_hash(signed: Signed) -> str:
    """Return what the next document says of this one."""
    return hashlib.sha256(signed.document.encode()).hexdigest()


def _row(made: Checkpoint) -> dict[str, Any]:
    return {
        "number": made.number,
        "position": made.position,
        "document": made.signed.document,
        "signature": bytes.fromhex(made.signed.signature),
    }


def _heads_before(connection: sa.Connection, done: int, until: int) -> dict[bytes, Head]:
    """Return where the streams that move after position `done` stood before."""
    events = schema.events
    moving = (
        sa.select(events.c.stream, (sa.func.min(events.c.version) - 1).label("version"))
        .where(events.c.position > done, events.c.position <= until)
        .group_by(events.c.stream)
        .subquery()
    )
    query = sa.select(events.c.stream, events.c.version, events.c.hash).join(
        moving, sa.and_(events.c.stream == moving.c.stream, events.c.version == moving.c.version)
    )
    return {r.stream.encode(): Head(r.version, bytes(r.hash)) for r in connection.execute(query)}
