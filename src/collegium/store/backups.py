"""Backups: one file of `pg_dump` and a JSON card beside it that says what it is.

The key folder is no part of it: whoever restores an old backup cannot restore the anchor with it,
so verification notices. Personal texts erased after a backup are still in it; restoring over a
database that knows of those erasures carries them out again.
"""

import fcntl
import hashlib
import os
import subprocess
import tempfile
import uuid
from datetime import datetime
from pathlib import Path
from typing import IO

import sqlalchemy as sa

from collegium.core import (
    Clock,
    ConfigError,
    CorruptDataError,
    NotFoundError,
    Record,
    SystemClock,
    UnavailableError,
)
from collegium.store import schema
from collegium.store.database import Database, client_address
from collegium.store.files import write_text
from collegium.store.migrations.revisions import (
    applied_revision,
    is_being_restored,
    latest_revision,
    upgrade,
)
from collegium.store.programs import packaged_programs
from collegium.store.schema import REPLACED, SCHEMA

_BLOCK = 1 << 20
_PUT_ASIDE = (
    f"do $$ begin if to_regnamespace('{SCHEMA}') is not null then "
    f"alter schema {SCHEMA} rename to {REPLACED}; end if; end $$"
)
_UNKNOWN_BEFORE_17 = b"SET transaction_timeout = 0;"


class BackupCard(Record):
    """What a backup holds; lies beside it as `FILE.json`."""

    made_at: datetime
    ledger: str
    position: int
    """Of the newest event in it."""
    checkpoint: int | None
    """Number of the newest checkpoint in it."""
    schema_revision: str
    sha256: str
    """Of the file."""
    bytes: int


def back_up(database: Database, file: Path, clock: Clock | None = None) -> BackupCard:
    """Write the database, as it is at one moment, to `file`, which must not be there yet.

    Raises:
        ConfigError: The file is there, or cannot be written.
        UnavailableError: `pg_dump` failed, for instance as the disk is full.
    """
    if file.exists():
        raise ConfigError(f"{file} is there already: choose another name")
    try:
        return _write(database, file, (clock or SystemClock()).now())
    except OSError as error:
        raise ConfigError(f"{file} cannot be written ({error.strerror}): choose another") from error


def _write(database: Database, file: Path, now: datetime) -> BackupCard:
    raw = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    raw.touch(mode=0o600)  # for the owner only: personal texts are in it
    try:
        card = _dump(database, raw, now)
        write_text(card_file(file), card.model_dump_json(indent=1))
        raw.rename(file)
    finally:
        raw.unlink(missing_ok=True)
    return card


def _dump(database: Database, file: Path, now: datetime) -> BackupCard:
    with database.connection() as connection:
        connection.execution_options(isolation_level="REPEATABLE READ")
        snapshot = connection.scalar(sa.text("select pg_export_snapshot()"))
        _run(
            database, "pg_dump", "--format=custom", f"--schema={SCHEMA}", f"--snapshot={snapshot}",
            "--no-owner", "--no-privileges", f"--file={file}",
        )  # fmt: skip
        return _card(connection, file, now)


def card_file(file: Path) -> Path:
    """Return where the card of a backup lies."""
    return file.with_name(f"{file.name}.json")


def read_card(file: Path) -> BackupCard:
    """Return the card of a backup after checking the file against it.

    Raises:
        NotFoundError: The file or its card is not there.
        CorruptDataError: The file is not what its card says.
        ConfigError: It was made by a newer release.
    """
    card_path = card_file(file)
    for path in (file, card_path):
        if not path.is_file():
            raise NotFoundError(f"no backup at {file}: {path.name} is not there")
    try:
        card = BackupCard.model_validate_json(card_path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CorruptDataError(f"{card_path} is damaged: {error}") from None
    found = _digest(file)
    if found != card.sha256:
        raise CorruptDataError(f"{file} has SHA-256 {found}, its card says {card.sha256}")
    if card.schema_revision > latest_revision():
        raise ConfigError(
            f"{file} has schema {card.schema_revision}, this release knows {latest_revision()}: "
            "restore it with the release that made it, or a newer one"
        )
    return card


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
        _run(database, "pg_restore", "--no-owner", "--no-privileges", str(file), out=script)
        _leave_out(script, _UNKNOWN_BEFORE_17)
        _run(
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


def _card(connection: sa.Connection, file: Path, now: datetime) -> BackupCard:
    head = connection.execute(sa.select(schema.ledger.c.id, schema.ledger.c.position)).one()
    return BackupCard(
        made_at=now,
        ledger=str(head.id),
        position=head.position,
        checkpoint=connection.scalar(sa.select(sa.func.max(schema.checkpoints.c.number))),
        schema_revision=applied_revision(connection) or "",
        sha256=_digest(file),
        bytes=file.stat().st_size,
    )


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as data:
        while block := data.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _run(
    database: Database,
    program: str,
    *arguments: str,
    given: IO[bytes] | None = None,
    out: IO[bytes] | None = None,
) -> None:
    """Run one of PostgreSQL's clients; the password never stands in a command.

    `pg_restore` writes SQL to `out` and needs no server; the others work on the database.
    """
    password = database.engine.url.password
    place = "--file=-" if program == "pg_restore" else f"--dbname={client_address(database)}"
    done = subprocess.run(
        [str(packaged_programs() / program), place, *arguments],
        env=os.environ | ({"PGPASSWORD": str(password)} if password else {}),
        stdin=given or subprocess.DEVNULL,
        stdout=out or subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise UnavailableError(
            f"{program} failed: {_reason(done)} ({database.settings.server_name()})"
        )


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the line that says why: the first error, else the last line."""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    errors = [line for line in lines if "error:" in line.lower()]
    return (errors[:1] or lines[-1:] or [f"exit code {done.returncode}"])[0]
