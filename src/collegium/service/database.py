"""The use-cases of whoever operates the database; each opens and closes it by itself."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from collegium.core import CorruptDataError, Record, SystemClock
from collegium.service.publishing import PublishedRun, publish_run
from collegium.store.backups import BackupCard, back_up, read_card
from collegium.store.database import Database, client_address
from collegium.store.embedded import EmbeddedServer
from collegium.store.keys import KeyRow, KeyStore
from collegium.store.ledger.checkpoints import Checkpointer, CheckpointInfo, last_checkpoint
from collegium.store.ledger.erasures import Erasures, erase_again, recorded_erasures
from collegium.store.ledger.findings import Verification
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.signing import KeyFolder
from collegium.store.ledger.verification import Verifier
from collegium.store.migrations.revisions import applied_revision, latest_revision, upgrade
from collegium.store.restoring import forget_replaced, restore, take_back_replaced
from collegium.store.schema import SCHEMA
from collegium.store.scrubbing import Scrubbed, scrub
from collegium.store.settings import DatabaseSettings
from collegium.store.status import DatabaseStatus, look, position_of


class Upgraded(Record):
    """What an upgrade did."""

    before: str | None
    after: str


class Restored(Record):
    """What a restore did."""

    backup: BackupCard
    lost: int
    """Events that the database held and the backup does not."""
    erased_again: int
    """Personal texts that the backup brought back and that were erased again."""
    older_accepted: bool
    """Whether the anchor was put aside, so that the older state verifies."""
    keys_kept: int | None
    """Keys that are as they were before; null: the backup's count, also those revoked since."""


class _Before(NamedTuple):
    """What a database held that a backup is about to replace; nothing, if it has no tables yet."""

    ledger: str | None = None
    position: int = 0
    erased: Erasures | None = None
    keys: Sequence[KeyRow] | None = None

    @classmethod
    def of(cls, database: Database) -> "_Before":
        with database.connection() as connection:
            revision, position = applied_revision(connection), position_of(connection)
            if position is None:
                return cls()
            erased = recorded_erasures(connection)
        # An older schema has no keys, or not as this release reads them.
        keys = KeyStore(database).everything() if revision == latest_revision() else None
        return cls(str(erased.ledger), position, erased, keys)


class DatabaseService:
    """See the module; `collegium db` calls this."""

    def __init__(self, settings: DatabaseSettings) -> None:
        """Operate the database that `settings` name."""
        self._settings = settings

    def start(self) -> DatabaseStatus:
        """Start the embedded server to stay, and bring the tables to this release."""
        with closing(Database.connect(self._settings, keep=True)) as database:
            _upgrade(database)
        return self.status()

    def stop(self) -> DatabaseStatus:
        """Stop the embedded server; does nothing to a server of somebody else's."""
        if self._settings.url is None:
            EmbeddedServer(self._settings.data_dir).stop()
        return self.status()

    def upgrade(self) -> Upgraded:
        """Apply the migrations that are missing."""
        with closing(Database.connect(self._settings)) as database:
            before = _upgrade(database)
        return Upgraded(before=before, after=latest_revision())

    def status(self) -> DatabaseStatus:
        """Look, and change nothing."""
        return look(self._settings)

    def checkpoint(self) -> CheckpointInfo | None:
        """Verify what is new and sign it; None while the ledger is empty."""
        with self._opened() as database:
            return Checkpointer(database, SystemClock()).run()

    def verify(self) -> Verification:
        """Verify the whole ledger."""
        with self._opened() as database:
            return Verifier(database, SystemClock()).run()

    def publish(self, run: str) -> PublishedRun:
        """Append the digest of a finished run, and sign the ledger up to there."""
        with self._opened() as database:
            published = publish_run(run, PostgresLedger(database), SystemClock())
            Checkpointer(database, SystemClock()).run()
            return published

    def back_up(self, file: Path) -> BackupCard:
        """Write the whole database to a file."""
        with self._opened() as database:
            return back_up(database, file, SystemClock())

    def restore(self, file: Path, *, accept_older: bool) -> Restored:
        """Put a backup in the place of the database.

        What was taken back since the backup stays taken back, as far as the database that is
        replaced knows of it and holds the same ledger: texts that were erased are erased again,
        and keys stay as they are now. For a moment in between, the backup's keys count to services
        that are running; nothing else opens the database until all is done.

        Args:
            file: The backup.
            accept_older: Take the older state for the true one from now on: verification no longer
                says that newer events were signed and are lost.

        Raises:
            CorruptDataError: The backup is damaged, or the database so much that what was taken
                back since cannot be known.
        """
        card = read_card(file)
        with closing(Database.connect(self._settings)) as database:
            take_back_replaced(database)
            before = _before(database)
            keys = before.keys if before.ledger == card.ledger else None
            restore(database, file)
            KeyStore(database).put_back(keys or ())
            if accept_older:
                _accept(database, KeyFolder(self._settings.keys))
            ledger = PostgresLedger(database)
            again = erase_again(ledger, before.erased) if before.erased else 0
            forget_replaced(database)
        return Restored(
            backup=card,
            lost=max(0, before.position - card.position),
            erased_again=again,
            older_accepted=accept_older,
            keys_kept=None if keys is None else len(keys),
        )

    def scrub(self) -> Scrubbed:
        """Remove what was deleted from the server's files as well."""
        with self._opened() as database:
            return scrub(database)

    @contextmanager
    def _opened(self) -> Iterator[Database]:
        with closing(Database.open(self._settings)) as database:
            yield database


def _before(database: Database) -> _Before:
    try:
        return _Before.of(database)
    except CorruptDataError as error:
        psql = f"psql '{client_address(database)}' -c 'drop schema {SCHEMA} cascade'"
        raise CorruptDataError(
            f"{error}; so what was erased and revoked since the backup cannot be known. If it need "
            f"not be: {psql}, then restore"
        ) from error


def _upgrade(database: Database) -> str | None:
    with database.transaction() as connection:
        database.check_server(connection)
        before = applied_revision(connection)
        if before is None or before < latest_revision():
            upgrade(connection)
        return before


def _accept(database: Database, keys: KeyFolder) -> None:
    keys.drop_anchor()
    with database.connection() as connection:
        last = last_checkpoint(connection)
    if last is not None:
        keys.set_anchor(last.signed, last.number)
