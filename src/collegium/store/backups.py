"""Backups: one file of `pg_dump` and a JSON card beside it that says what it is.

The key folder is no part of it: whoever restores an old backup (`store.restoring`) cannot restore
the anchor with it, so verification notices. Personal texts erased after a backup are still in it.
"""

import hashlib
import uuid
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
)
from collegium.store import schema
from collegium.store.clients import run_client
from collegium.store.database import Database
from collegium.store.files import write_text
from collegium.store.migrations.revisions import (
    applied_revision,
    latest_revision,
)
from collegium.store.schema import SCHEMA

_BLOCK = 1 << 20


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
        run_client(
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
