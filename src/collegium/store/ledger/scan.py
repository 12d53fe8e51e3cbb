"""Going through all events and recomputing their hashes, as fast as Python can.

The canonical bytes of an event are its columns, in the order of `_COLUMNS`, each as four bytes of
length and its PostgreSQL binary form, big-endian: integers of 8 bytes (4 for schema_version), the
UUID's 16, times as microseconds since 2000-01-01 UTC, texts in UTF-8. `COPY … (FORMAT BINARY)`
sends just these, so a row is hashed as it arrives. `hash` is SHA-256 over the hash of the event
before it in the stream (32 zero bytes before the first) and these bytes.

The scan only notes what is not as expected; `store.ledger.judging` finds out what happened to it.
"""

import hashlib
import struct
from collections.abc import Generator, Iterator
from itertools import chain
from typing import Any, NamedTuple

import sqlalchemy as sa
from psycopg.pq import DiagnosticField, ExecStatus

from collegium.core import CorruptDataError, UnavailableError

ZERO = bytes(32)
"""Stands before the first event of a stream."""
END = 2**63 - 1
"""No position is beyond it."""
MAX_SUSPECTS = 1000
"""Suspects kept for judging; of more, only the number is known."""

_NO_SUCH = "42"
"""Class of errors about tables and columns that are not there."""
_COLUMNS = (
    "position, version, id, observed_at, recorded_at, schema_version, stream, type, "
    "idempotency_key, payload, commitments, hash"
)
_FILE_HEADER = 19
_ROW_HEADER = 2
_NAME = 82
"""Where the stream's name starts in a row; its length stands before it."""
_HASH = 32
_FIXED = struct.Struct(">hiqiq20x12x12x8xi")
_SIZES = (8, 8, 16, 8, 8, 4, None, None, None, None, None, 32)
"""Bytes of each column; None: any number."""
_POSITION = slice(4, 12)
_VERSION = slice(16, 24)


class Head(NamedTuple):
    """Where a stream stands."""

    version: int
    hash: bytes


class Suspect(NamedTuple):
    """An event that is not what its predecessors let expect."""

    position: int
    version: int
    stream: str
    frame: bytes
    """Its canonical bytes."""
    hash: bytes
    """As stored."""

    def hash_after(self, previous: bytes, position: int = 0, version: int = 0) -> bytes:
        """Return the hash after `previous`, as if it stood at another position and version."""
        frame = bytearray(self.frame)
        frame[_POSITION] = (position or self.position).to_bytes(8, "big")
        frame[_VERSION] = (version or self.version).to_bytes(8, "big")
        return hashlib.sha256(previous + frame).digest()


class Scan:
    """What is known of the events up to `position`."""

    def __init__(self, position: int = 0, heads: dict[bytes, Head] | None = None) -> None:
        """Start after `position`, where the streams have these `heads` (by name in UTF-8)."""
        self.position = position
        self.heads: dict[bytes, Any] = dict(heads or {})
        self.gaps: list[tuple[int, int]] = []
        """Missing positions: first and last of each gap."""
        self.strays: list[int] = []
        """Positions of events that stand below the first, or where another one stands."""
        self.broken: list[int] = []
        """Positions of events with a column that is empty, or of another size than its type has.

        0 stands for a position that is empty itself.
        """
        self.suspects: list[Suspect] = []
        self.suspected = 0
        """Strays, broken ones and suspects, also those that are not kept."""
        self.counted = 0
        self._held: tuple[bytes | memoryview, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether every event is as its predecessors let expect."""
        return not self.suspected and not self.gaps

    @property
    def doubts(self) -> Iterator[int]:
        """Positions up to which something is not as expected."""
        yield from (suspect.position for suspect in self.suspects)
        yield from (last for _, last in self.gaps)
        yield from self.strays
        yield from self.broken

    @property
    def dropped(self) -> int:
        """How many are not kept for judging."""
        return self.suspected - len(self.suspects) - len(self.strays) - len(self.broken)

    def feed(self, rows: Iterator[bytes | memoryview], until: int) -> bool:
        """Take rows up to position `until`; False when they came to their end before it.

        The next call goes on with the first row beyond it; `rows` must be the same iterator.
        """
        heads, unpack, sha256 = self.heads, _FIXED.unpack_from, hashlib.sha256
        nothing = (0, ZERO)
        expected = self.position + 1
        for row in chain(self._held, rows):
            _, filled, position, _, version, size = unpack(row)
            if position > until:
                self._held, self.position = (row,), expected - 1
                return True
            if position != expected:
                if filled < 0:
                    self._note(self.broken, 0)
                    continue
                if position < expected:
                    self._note(self.strays, position)
                    continue
                self.gaps.append((expected, position - 1))
            expected = position + 1
            self.counted += 1
            stream = bytes(row[_NAME : _NAME + size])
            head = heads.get(stream, nothing)
            stored = bytes(row[-_HASH:])
            frame = row[_ROW_HEADER : -_HASH - 4]
            fits = version == head[0] + 1 and sha256(head[1] + frame).digest() == stored
            if fits or self._suspect(position, version, stream, bytes(row)):
                heads[stream] = (version, stored)
            if position == until:
                break
        self._held = ()
        self.position = expected - 1
        return self.position == until

    def _suspect(self, position: int, version: int, stream: bytes, row: bytes) -> bool:
        """Note a suspect; False if its columns cannot even be told apart."""
        if not _is_whole(row):
            self._note(self.broken, position)
            return False
        frame, stored = row[_ROW_HEADER : -_HASH - 4], row[-_HASH:]
        self._note(self.suspects, Suspect(position, version, stream.decode(), frame, stored))
        return True

    def _note(self, kept: list[Any], one: Any) -> None:
        self.suspected += 1
        if len(kept) < MAX_SUSPECTS:
            kept.append(one)


def _is_whole(row: bytes) -> bool:
    """Return whether each column is there, and has the size that its type has."""
    at = _ROW_HEADER
    for proper in _SIZES:
        size = int.from_bytes(row[at : at + 4], "big", signed=True)
        if size < 0 or size != (proper or size):
            return False
        at += 4 + size
    return at == len(row)


def all_rows(connection: sa.Connection) -> Generator[memoryview, None, None]:
    """Yield each event in PostgreSQL's binary form, by position, whatever that is.

    This goes past the driver's own iterator, which takes as long for a row as checking it does.
    Nothing else can be done on the connection before all rows are taken; whoever stops earlier
    closes this, which gives the connection up.
    """
    return _rows(connection, "true")


def rows_between(
    connection: sa.Connection, position: int, until: int
) -> Generator[memoryview, None, None]:
    """Yield each event after `position`, up to `until`, as `all_rows` does."""
    return _rows(connection, f"position > {int(position)} and position <= {int(until)}")


def _rows(connection: sa.Connection, which: str) -> Generator[memoryview, None, None]:
    driver: Any = connection.connection.driver_connection
    wire = driver.pgconn
    query = (
        f"copy (select {_COLUMNS} from collegium.events where {which} order by position) "
        "to stdout (format binary)"
    )
    connection.execute(sa.select(1))  # so that the snapshot is that of the transaction
    _succeeded(wire.exec_(query.encode()), ExecStatus.COPY_OUT, driver)
    get, size = wire.get_copy_data, 1
    try:
        size, row = get(0)
        if size > _FILE_HEADER + _NAME:
            yield row[_FILE_HEADER:]
        while size > 0:
            size, row = get(0)
            if size > _NAME:  # the last block only says that it is the last
                yield row
    finally:
        if size > 0:
            connection.invalidate()
    _succeeded(wire.get_result(), ExecStatus.COMMAND_OK, driver)
    wire.get_result()


def _succeeded(result: Any, expected: ExecStatus, driver: Any) -> None:
    if result.status == expected:
        return
    message = (result.get_error_message() or driver.pgconn.get_error_message()).strip()
    state = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    if state.startswith(_NO_SUCH):
        raise CorruptDataError(
            f"the table of events is not as it was made ({message}); restore a backup"
        )
    raise UnavailableError(f"the database did not hand over its events: {message}")
