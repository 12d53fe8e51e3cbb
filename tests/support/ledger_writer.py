"""A process that appends to a ledger until it is killed, and notes what was acknowledged.

python ledger_writer.py SETTINGS_JSON WRITER STREAMS FILE

Each line of FILE is an idempotency key, its stream and the position that the ledger answered with;
it is written after the answer, so everything in it was acknowledged.
"""

import json
import random
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from collegium.core import UnavailableError
from collegium.store.database import Database
from collegium.store.ledger import NewEvent
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.settings import DatabaseSettings


def main(settings: str, writer: str, streams: str, file: str) -> None:
    """Append single events and batches over the streams, in an order of the writer's own."""
    given = json.loads(settings)
    database = Database.open(DatabaseSettings(data_dir=Path(given["data_dir"]), url=given["url"]))
    ledger = PostgresLedger(database)
    choose = random.Random(int(writer))
    number = 0
    with Path(file).open("w", buffering=1) as acknowledged:
        while True:
            size = choose.choice((1, 1, 1, 5))
            events = []
            for _ in range(size):
                number += 1
                events.append(event(writer, number, choose.randrange(int(streams))))
            for one in patiently(ledger, events):
                line = {"key": one.idempotency_key, "stream": one.stream, "position": one.position}
                acknowledged.write(json.dumps(line) + "\n")


def event(writer: str, number: int, stream: int) -> NewEvent:
    """Return the event `number` of a writer."""
    return NewEvent(
        stream=f"stream/{stream}",
        type="counted",
        payload={"writer": int(writer), "number": number},
        observed_at=datetime.now(UTC),
        idempotency_key=f"{writer}-{number}",
    )


def patiently(ledger: PostgresLedger, events: list[NewEvent]) -> list:
    """Append, and do it again while the database is away: the keys make that safe."""
    while True:
        try:
            return ledger.append_batch(events)
        except UnavailableError:
            time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
