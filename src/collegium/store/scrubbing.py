"""Removing what was deleted from the server's files as well.

A deleted row stays in its page until that is reused, and in the write-ahead log. Scrubbing rewrites
all tables but `events` (from which nothing is ever deleted) and drops the log up to now. On the
embedded server that is all there is. A server of somebody else's may have archives and replicas,
which cannot be seen from here; backups lie outside in any case.

Rewriting keeps what a transaction opened before the deletion can still see, so those come to their
end first.
"""

import time

import sqlalchemy as sa

from collegium.core import Record, UnavailableError
from collegium.store.database import Database
from collegium.store.schema import SCHEMA

_TABLES = sa.text(
    "select relname from pg_class where relnamespace = :schema ::regnamespace and relkind = 'r' "
    "and relname not in ('events', 'alembic_version') order by relname"
)
_OPENED_BEFORE = sa.text(
    "select pid, application_name from pg_stat_activity where backend_xmin is not null "
    "and datname = current_database() and pid <> pg_backend_pid() and xact_start < :started"
)
_PATIENCE_S = 30.0


class Scrubbed(Record):
    """What scrubbing did."""

    tables: tuple[str, ...]
    """Rewritten."""
    physical: bool
    """Whether nothing deleted is left in the server's own files."""
    outside: str
    """What was out of reach."""


def scrub(database: Database) -> Scrubbed:
    """Rewrite the tables and drop the write-ahead log; whoever uses the tables waits meanwhile.

    Raises:
        UnavailableError: A transaction that was there before does not come to its end.
    """
    with database.autocommit() as connection:
        _wait_for_older(connection)
        tables = tuple(connection.scalars(_TABLES, {"schema": SCHEMA}))
        for table in tables:
            connection.exec_driver_sql(f'vacuum (full) {SCHEMA}."{table}"')
        embedded = database.settings.url is None
        if embedded:
            # The first checkpoint ends the use of the log up to now, the second removes it.
            connection.exec_driver_sql("select pg_switch_wal()")
            connection.exec_driver_sql("checkpoint")
            connection.exec_driver_sql("select pg_switch_wal()")
            connection.exec_driver_sql("checkpoint")
    outside = "backups made before" if embedded else "the server's log, archives, replicas, backups"
    return Scrubbed(tables=tables, physical=embedded, outside=outside)


def _wait_for_older(connection: sa.Connection) -> None:
    started = connection.scalar(sa.text("select clock_timestamp()"))
    deadline = time.monotonic() + _PATIENCE_S
    while older := connection.execute(_OPENED_BEFORE, {"started": started}).first():
        if time.monotonic() > deadline:
            raise UnavailableError(
                f"process {older.pid} ({older.application_name or 'without a name'}) has a "
                f"transaction open for more than {_PATIENCE_S:.0f} s, in which what was deleted "
                f"is still there: end it (`select pg_terminate_backend({older.pid})`), and scrub "
                "again"
            )
        time.sleep(0.05)
