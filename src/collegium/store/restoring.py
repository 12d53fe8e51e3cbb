"""Restoring a backup: all or nothing, and nothing forgotten that was taken back since it was made.

What was there is kept aside, under another name, until whoever restores has carried out again what
it knows of (erasures, revoked keys) and says so. A restore that was cut short is begun again from
there.
"""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import IO

from collegium.store.backups import BackupCard, read_card
from collegium.store.clients import run_client
from collegium.store.database import Database
from collegium.store.migrations.revisions import (
    applied_revision,
    is_being_restored,
    latest_revision,
    upgrade,
)
from collegium.store.schema import REPLACED, SCHEMA

_PUT_ASIDE = (
    f"do $$ begin if to_regnamespace('{SCHEMA}') is not null then "
    f"alter schema {SCHEMA} rename to {REPLACED}; end if; end $$"
)
_UNKNOWN_BEFORE_17 = b"SET transaction_timeout = 0;"


def restore(database: Database, file: Path) -> BackupCard:
    """Put a backup in the place of all that is in the database; all or nothing.

    What was there is kept aside until `forget_replaced`, so that what was taken back since the
    backup can be taken back again; until then nobody opens the database.

    Raises:
        UnavailableError: It failed, and everything is as before.
    """
    card = read_card(file)
    # Nobody else reads it and no kill leaves it: it is the database, as text.
    with tempfile.TemporaryFile(buffering=0) as script:
        run_client(database, "pg_restore", "--no-owner", "--no-privileges", str(file), out=script)
        _leave_out(script, _UNKNOWN_BEFORE_17)
        run_client(
            database, "psql", "--no-psqlrc", "--quiet", "--single-transaction",
            "--set=ON_ERROR_STOP=1", f"--command={_PUT_ASIDE}", "--file=-",
            given=script,
        )  # fmt: skip
    with database.transaction() as connection:
        if applied_revision(connection) != latest_revision():
            upgrade(connection)
    return card


def take_back_replaced(database: Database) -> None:
    """If a restore was cut short, go back to what was there before it."""
    with database.transaction() as connection:
        if is_being_restored(connection):
            connection.exec_driver_sql(f"drop schema if exists {SCHEMA} cascade")
            connection.exec_driver_sql(f"alter schema {REPLACED} rename to {SCHEMA}")


def forget_replaced(database: Database) -> None:
    """End a restore: drop what it replaced."""
    with database.transaction() as connection:
        connection.exec_driver_sql(f"drop schema if exists {REPLACED} cascade")


def _leave_out(script: IO[bytes], statement: bytes) -> None:
    """Turn a statement at the start of a script into a comment of the same length; rewind it."""
    flags = fcntl.fcntl(script, fcntl.F_GETFL)
    fcntl.fcntl(script, fcntl.F_SETFL, flags & ~os.O_APPEND)  # which `pg_restore` has set
    script.seek(0)
    start = script.read(4096)
    script.seek(0)
    script.write(start.replace(statement, b"--" + statement[2:], 1))
    script.seek(0)
