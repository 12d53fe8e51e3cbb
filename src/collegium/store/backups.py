"""Backups: one file of `pg_dump` and a JSON card beside it that says what it is.

The key folder is no part of it: whoever restores an old backup cannot restore the anchor with it,
so verification notices. Personal texts erased after a backup are still in it; restoring over a
database that knows of those erasures carries them out again.
"""

import hashlib
import os
import subprocess
from datetime import datetime
from pathlib import Path

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
from collegium.store.database import Database
from collegium.store.migrations.revisions import applied_revision, latest_revision, upgrade
from collegium.store.programs import packaged_programs
from collegium.store.schema import SCHEMA

_BLOCK = 1 << 20
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
    raw = file.with_name(f"{file.name}.new")
    with database.connection() as connection:
        connection.execution_options(isolation_level="REPEATABLE READ")
        snapshot = connection.scalar(sa.text("select pg_export_snapshot()"))
        _run(
            database, "pg_dump", "--format=custom", f"--schema={SCHEMA}", f"--snapshot={snapshot}",
            "--no-owner", "--no-privileges", f"--file={raw}",
        )  # fmt: skip
        card = _card(connection, raw, (clock or SystemClock()).now())
    card_file(file).write_text(card.model_dump_json(indent=1), encoding="utf-8")
    raw.rename(file)
    return card


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

    Raises:
        UnavailableError: It failed, and everything is as before.
    """
    card = read_card(file)
    script = file.with_name(f"{file.name}.sql")
    try:
        _run(database, "pg_restore", "--no-owner", "--no-privileges", f"--file={script}", str(file))
        _leave_out(script, _UNKNOWN_BEFORE_17)
        _run(
            database, "psql", "--no-psqlrc", "--quiet", "--single-transaction",
            "--set=ON_ERROR_STOP=1", f"--command=drop schema if exists {SCHEMA} cascade",
            f"--file={script}",
        )  # fmt: skip
    finally:
        script.unlink(missing_ok=True)
    with database.transaction() as connection:
        if applied_revision(connection) != latest_revision():
            upgrade(connection)
    return card


def _leave_out(script: Path, statement: bytes) -> None:
    """Turn a statement at the start of a script into a comment of the same length."""
    with script.open("r+b") as file:
        start = file.read(4096)
        file.seek(0)
        file.write(start.replace(statement, b"--" + statement[2:], 1))


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


def _run(database: Database, program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's clients on the database; the password never stands in a command."""
    url = database.engine.url
    address = url.set(drivername="postgresql", password=None).render_as_string()
    password = {"PGPASSWORD": str(url.password)} if url.password else {}
    command = [str(packaged_programs() / program), f"--dbname={address}", *arguments]
    if program == "pg_restore":  # it only turns the file into SQL, without a server
        command.remove(f"--dbname={address}")
    done = subprocess.run(
        command, env=os.environ | password, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise UnavailableError(f"{program} failed: {lines[-1]} ({database.settings.server_name()})")
