"""The database: one engine over the embedded server, or over the one that DATABASE_URL names.

Opening it starts the embedded server if need be, checks the server's version and the schema, and
fills an empty database. A `Database` pickles as its settings. Failures of the server come out as
errors that say what to do (`store.failures`).
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self, cast

import psycopg
import sqlalchemy as sa

from collegium.core import ConfigError
from collegium.store.embedded import EmbeddedServer
from collegium.store.failures import explained
from collegium.store.migrations.revisions import (
    applied_revision,
    is_being_restored,
    latest_revision,
    upgrade,
)
from collegium.store.settings import DatabaseSettings

MIN_VERSION = 16
"""Oldest major version of PostgreSQL that the tests run on."""


class Database:
    """An open database; close it, or leave that to the garbage collector."""

    def __init__(self, settings: DatabaseSettings, engine: sa.Engine) -> None:
        """Use `Database.open`."""
        self.settings = settings
        self.engine = engine
        self._autocommitting = engine.execution_options(isolation_level="AUTOCOMMIT")

    @classmethod
    def open(cls, settings: DatabaseSettings) -> Self:
        """Return the database, ready for use; an empty one gets its tables first.

        Raises:
            ConfigError: Address, data directory, server version or schema do not fit.
            UnavailableError: The server does not answer.
        """
        database = cls.connect(settings)
        try:
            database._prepare()
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def connect(cls, settings: DatabaseSettings, *, keep: bool = False) -> Self:
        """Return the database whatever its schema; `keep` lets an embedded server run on."""
        server = EmbeddedServer(settings.data_dir) if settings.url is None else None
        if server:
            server.acquire(keep=keep)
        database = cls(settings, _engine(server.url if server else _address(settings)))
        database._closing = weakref.finalize(database, _close, database.engine, server)
        return database

    @contextmanager
    def connection(self) -> Iterator[sa.Connection]:
        """Lend a connection; what was not committed is rolled back."""
        with explained(self.settings), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Lend a connection within a transaction: committed at the end, rolled back on errors."""
        with explained(self.settings), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def autocommit(self) -> Iterator[sa.Connection]:
        """Lend a connection on which each statement is a transaction of its own."""
        with explained(self.settings), self._autocommitting.connect() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections and leave the embedded server."""
        self._closing()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as settings."""
        return type(self).open, (self.settings,)

    def _prepare(self) -> None:
        with self.transaction() as connection:
            self.check_server(connection)
            applied = applied_revision(connection)
            if applied is None:
                upgrade(connection)
            elif applied != latest_revision():
                raise ConfigError(self._wrong_schema(applied))

    def check_server(self, connection: sa.Connection) -> None:
        """Refuse a server older than those tested, and a database not UTF-8 or half restored."""
        number = int(connection.scalar(sa.text("show server_version_num")) or 0) // 10000
        if number < MIN_VERSION:
            raise ConfigError(
                f"{self.settings.server_name()} is PostgreSQL {number}: at least {MIN_VERSION} is "
                "needed; upgrade it, or unset DATABASE_URL to use the embedded server"
            )
        if (encoding := connection.scalar(sa.text("show server_encoding"))) != "UTF8":
            raise ConfigError(
                f"{self.settings.server_name()} holds text as {encoding}: make a database with "
                "`createdb --encoding=UTF8 --template=template0`"
            )
        if is_being_restored(connection):
            raise ConfigError(
                f"{self.settings.server_name()} is being restored from a backup: wait; if that was "
                "cut short, run `collegium db restore FILE` again"
            )

    def _wrong_schema(self, applied: str) -> str:
        found = f"{self.settings.server_name()} has schema {applied}, this is {latest_revision()}"
        if applied > latest_revision():
            return f"{found}: install the release of collegium that made it, or a newer one"
        return f"{found}: run `collegium db upgrade` (a backup first: `collegium db backup FILE`)"

    _closing: Any


@contextmanager
def driver_cursor(connection: sa.Connection) -> Iterator[psycopg.Cursor[Any]]:
    """Lend the driver's own cursor: for a statement that takes less time than SQLAlchemy's part.

    It works in the connection's transaction.
    """
    driver: psycopg.Connection[Any] = cast(Any, connection.connection.driver_connection)
    try:
        with driver.cursor() as cursor:
            yield cursor
    except psycopg.OperationalError:
        if driver.closed:
            connection.invalidate()
        raise


def client_address(database: Database) -> str:
    """Return the address for PostgreSQL's own programs, without the password."""
    url = database.engine.url.set(drivername="postgresql", password=None)
    place, mark, query = url.render_as_string().partition("?")
    return place + mark + query.replace("+", "%20")  # they take a plus for a plus


def _close(engine: sa.Engine, server: EmbeddedServer | None) -> None:
    engine.dispose()
    if server:
        server.release()


def _engine(address: str) -> sa.Engine:
    url = sa.make_url(address)
    given = url.query.get("options", "")
    # In other time zones the first and last days of the calendar cannot be read.
    options = f"{given if isinstance(given, str) else given[-1]} -c timezone=UTC".strip()
    arguments = {
        "connect_timeout": 10,
        "application_name": "collegium",
        "client_encoding": "utf8",
        "options": options,
    }
    # A pooled connection is tried before it is lent: the server may have been restarted.
    return sa.create_engine(url, pool_pre_ping=True, connect_args=arguments)


def _address(settings: DatabaseSettings) -> str:
    """Return DATABASE_URL with our driver, whatever the form of its scheme."""
    given = settings.url.get_secret_value() if settings.url else ""
    try:
        url = sa.make_url(given)
    except sa.exc.ArgumentError:
        raise ConfigError(
            "DATABASE_URL is no address: expected postgresql://user:password@host:5432/database"
        ) from None
    if url.drivername.partition("+")[0] not in ("postgresql", "postgres"):
        raise ConfigError(f"DATABASE_URL: expected postgresql://…, found {url.drivername}://…")
    if password := url.query.get("password"):
        # Here nothing that is shown or run holds it.
        url = url.set(password=str(password)).difference_update_query(["password"])
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
