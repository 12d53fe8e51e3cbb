"""Appending to the ledger and verifying it, on an embedded server of the bench's own.

One process does everything, so it and the server use two cores at most. Events look like ratings:
about 150 bytes of payload, spread over 1,000 streams.

Figures:
    append_events_per_s: events a second, appended in batches of 100, each durable before the next.
    append_commit_ms, bare_commit_ms: medians of one append, and of one row inserted and committed.
    append_commit_ratio: their ratio. The two take turns in one run, as disks change their mind, and
        go the same way to the server: a pooled connection and the driver's own cursor.
    verify_events_per_s: events a second verified with chains, checkpoint, head and texts.
"""

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

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
PAIRS = 600
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


def run(events: int = EVENTS) -> BenchResult:
    """Measure with a ledger of `events` (more than 16,000); takes about a minute.

    Raises:
        CorruptDataError: The ledger does not verify.
    """
    clock = SystemClock()
    with _scratch() as database:
        ledger = PostgresLedger(database)
        appended = _batches(ledger, clock)
        append_s, bare_s = _pairs(database, ledger, clock)
        _fill(ledger, events)
        Checkpointer(database).run()
        verified = _verify(database)
    figures: dict[str, int | float | None] = {
        "verify_events_per_s": round(verified),
        "append_events_per_s": round(appended),
        "append_commit_ratio": round(append_s / bare_s, 3),
        "append_commit_ms": round(append_s * 1000, 3),
        "bare_commit_ms": round(bare_s * 1000, 3),
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


def _pairs(database: Database, ledger: PostgresLedger, clock: Clock) -> tuple[float, float]:
    """Return the median seconds of an append, and of a bare row committed."""
    with database.autocommit() as connection:
        connection.exec_driver_sql(_BARE_TABLE)
    first = BATCHES * BATCH
    appends, bares = [], []
    for number in range(PAIRS):
        event = _event(first + number)
        appends.append(_timed(clock, partial(ledger.append, event)))
        bares.append(_timed(clock, partial(_insert, database, (number, str(event.payload)))))
    return statistics.median(appends), statistics.median(bares)


def _insert(database: Database, row: tuple[int, str]) -> None:
    with database.autocommit() as connection, driver_cursor(connection) as cursor:
        cursor.execute(_BARE_ROW, row)


def _timed(clock: Clock, work: Callable[[], object]) -> float:
    started = clock.monotonic()
    work()
    return clock.monotonic() - started


def _fill(ledger: PostgresLedger, events: int) -> None:
    for first in range(BATCHES * BATCH + PAIRS, events, MAX_BATCH):
        size = min(MAX_BATCH, events - first)
        ledger.append_batch([_event(first + i) for i in range(size)])


def _verify(database: Database) -> float:
    """Return events a second; the median of a few runs."""
    runs = [Verifier(database).run() for _ in range(_VERIFICATIONS)]
    for one in runs:
        if not one.ok or one.vouched_to != one.position:
            raise CorruptDataError(f"the bench's own ledger does not verify: {one.findings}")
    return statistics.median(one.events / one.seconds for one in runs)
