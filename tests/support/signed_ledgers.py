"""A ledger that was signed in part, and what an intruder who owns its database would do."""

from datetime import UTC, datetime

from collegium.store.ledger import NewEvent
from collegium.store.ledger.checkpoints import Checkpointer
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.verification import Verifier

AT = datetime(2026, 1, 2, tzinfo=UTC)
STREAMS = 3
SIGNED = 24
ALL = 30
FRAME = (
    "collegium.ledger_frame(e.position, e.version, e.id, e.observed_at, e.recorded_at, "
    "e.schema_version, e.stream, e.type, e.idempotency_key, e.payload, e.commitments)"
)
# What an intruder would do who knows the code but not the key.
REHASH = f"""
do $$
declare e collegium.events; before bytea; name text;
begin
    for name in select distinct stream from collegium.events loop
        before := decode(repeat('00', 32), 'hex');
        for e in select * from collegium.events where stream = name order by version loop
            before := sha256(before || {FRAME});
            update collegium.events set hash = before where position = e.position;
        end loop;
    end loop;
    update collegium.ledger set position = (select max(position) from collegium.events);
end $$
"""


def new(number, **more):
    given = {"type": "t", "payload": {"n": number}, "observed_at": AT} | more
    return NewEvent(stream=f"s{number % STREAMS}", idempotency_key=str(number), **given)


def signed_ledger(database):
    """30 events on three streams; checkpoints at 12 and 24."""
    ledger = PostgresLedger(database)
    ledger.append_batch([new(i) for i in range(1, 13)])
    Checkpointer(database).run()
    ledger.append_batch([new(i) for i in range(13, SIGNED + 1)])
    Checkpointer(database).run()
    ledger.append_batch([new(i) for i in range(SIGNED + 1, ALL + 1)])
    return ledger


def tampered(database, *statements):
    """Verify after these statements."""
    with database.transaction() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    return Verifier(database).run()


def named(verification):
    """Return kind and position of each finding."""
    return [(f.kind, f.position) for f in verification.findings]
