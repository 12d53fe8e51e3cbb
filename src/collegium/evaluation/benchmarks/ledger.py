"""Appending to the ledger and verifying it, on an embedded server of the bench's own.

One process does everything, so it and the server use two cores at most. Events look like ratings:
about 150 bytes of payload, spread over 1,000 streams.

Figures:
    append_events_per_s: events a second, appended in batches of 100, each durable before the next.
    append_commit_ratio: median time of appending one event over that of committing one bare row.
    append_statement_ratio: the same over one bare row inserted by a statement that commits itself,
        which saves the round trips of BEGIN and COMMIT, as an append does.
    append_ms, commit_ms, statement_ms: these medians. The three take turns in one run, as disks
        change their mind, and all use a pooled connection and the driver's own cursor.
    verify_events_per_s: events a second verified with chains, checkpoint, head and texts.
"""

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from collegium.core import Clock, CorruptDataError, SystemClock
from collegium.evaluation.benchmarks.result import BenchResult, Target
from collegium.store.database import Database, driver_cursor
from collegium.store.ledger import NewEvent
from collegium.store.ledger.checkpoints import Checkpointer
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.protocol import MAX_BATCH
from collegium.store.ledger.verification import Verifier
from collegium.store.settings import DatabaseSettings

EVENTS = 100_000
BATCH = 100
BATCHES = 150
ROUNDS = 600
_STREAMS = 1000
_VERIFICATIONS = 3
_OBSERVED = datetime(2026, 1, 1, tzinfo=UTC)
_BARE_TABLE = "create table public.bare (id bigint primary key, payload text not null)"
_BARE_ROW = "insert into public.bare values (%s, %s)"
_TARGETS = {
    "verify_events_per_s": Target(min=150_000),
    "append_events_per_s": Target(min=3_000),
    "append_commit_ratio": Target(max=1.5),
}


class _Times(NamedTuple):
    """Seconds."""

    append: float
    commit: float
    statement: float


def run(events: int = EVENTS) -> BenchResult:
    """Measure with a ledger of `events` (more than 16,000); takes about a minute.

    Raises:
        CorruptDataError: The ledger does not verify.
    """
    clock = SystemClock()
    with _scratch() as database:
        ledger = PostgresLedger(database)
        appended = _batches(ledger, clock)
        times = _one_by_one(database, ledger, clock)
        _fill(ledger, events)
        Checkpointer(database).run()
        verified = _verify(database)
    figures: dict[str, int | float | None] = {
        "verify_events_per_s": round(verified),
        "append_events_per_s": round(appended),
        "append_commit_ratio": round(times.append / times.commit, 3),
        "append_statement_ratio": round(times.append / times.statement, 3),
        **{f"{name}_ms": round(seconds * 1000, 3) for name, seconds in times._asdict().items()},
    }
    return BenchResult.judge("ledger", figures, _TARGETS)


@contextmanager
def _scratch() -> Iterator[Database]:
    """Give a database on a server of its own, with the settings that all have."""
    folder = Path(tempfile.mkdtemp(prefix="collegium-bench-"))
    # As root, the server runs under another account, which has to pass through.
    folder.chmod(0o711)
    try:
        with closing(Database.open(DatabaseSettings(data_dir=folder))) as database:
            yield database
    finally:
        shutil.rmtree(folder)


def _event(number: int) -> NewEvent:
    return NewEvent(
        stream=f"entity/{number * 7919 % _STREAMS}",
        type="rating.recorded",
        payload={
            "rater": f"agent-{number % 97}",
            "scores": {"accuracy": 0.75, "latency": 0.5, "reliability": number % 101 / 100},
            "context": "answered in time, with one figure that could not be checked",
        },
        observed_at=_OBSERVED,
        idempotency_key=str(number),
    )


def _batches(ledger: PostgresLedger, clock: Clock) -> float:
    """Return events a second, appended in batches."""
    started = clock.monotonic()
    for number in range(BATCHES):
        first = number * BATCH
        ledger.append_batch([_event(first + i) for i in range(BATCH)])
    return BATCHES * BATCH / (clock.monotonic() - started)


def _one_by_one(database: Database, ledger: PostgresLedger, clock: Clock) -> _Times:
    """Return the medians of the three ways to store one row durably."""
    with database.autocommit() as connection:
        connection.exec_driver_sql(_BARE_TABLE)
    ways: list[list[float]] = [[], [], []]
    for number in range(ROUNDS):
        event = _event(BATCHES * BATCH + number)
        rows = [(2 * number + i, str(event.payload)) for i in range(2)]
        works: tuple[Callable[[], object], ...] = (
            partial(ledger.append, event),
            partial(_insert, database.transaction, rows[0]),
            partial(_insert, database.autocommit, rows[1]),
        )
        for way, work in zip(ways, works, strict=True):
            way.append(_timed(clock, work))
    return _Times(*map(statistics.median, ways))


def _insert(
    lend: Callable[[], AbstractContextManager[sa.Connection]], row: tuple[int, str]
) -> None:
    with lend() as connection, driver_cursor(connection) as cursor:
        cursor.execute(_BARE_ROW, row)


def _timed(clock: Clock, work: Callable[[], object]) -> float:
    started = clock.monotonic()
    work()
    return clock.monotonic() - started


def _fill(ledger: PostgresLedger, events: int) -> None:
    for first in range(BATCHES * BATCH + ROUNDS, events, MAX_BATCH):
        size = min(MAX_BATCH, events - first)
        ledger.append_batch([_event(first + i) for i in range(size)])


def _verify(database: Database) -> float:
    """Return events a second; the median of a few runs."""
    runs = [Verifier(database).run() for _ in range(_VERIFICATIONS)]
    for one in runs:
        if not one.ok or one.vouched_to != one.position:
            raise CorruptDataError(f"the bench's own ledger does not verify: {one.findings}")
    return statistics.median(one.events / one.seconds for one in runs)
