"""How a database is: asking starts nothing and changes nothing."""

from contextlib import closing

import sqlalchemy as sa

from collegium.core import Record
from collegium.store import schema
from collegium.store.database import Database, client_address
from collegium.store.embedded import EmbeddedServer
from collegium.store.ledger.checkpoints import last_checkpoint
from collegium.store.migrations.revisions import applied_revision, latest_revision
from collegium.store.settings import DatabaseSettings


class DatabaseStatus(Record):
    """How a database is."""

    server: str
    """Which one, without secrets."""
    running: bool
    """An embedded server that nobody uses is not; asking does not start it."""
    keeps_running: bool
    """Whether it stays when the last user leaves; true of every server but the embedded one."""
    version: str | None = None
    """Of PostgreSQL; null, like all that follows, while it is not running."""
    address: str | None = None
    """For `psql` and other clients on this machine; without a password."""
    schema_revision: str | None = None
    """Null: it has no tables yet."""
    latest_revision: str
    """What this release needs."""
    bytes: int | None = None
    ledger: str | None = None
    position: int | None = None
    checkpoint: int | None = None
    unsigned_events: int | None = None
    """Events after the newest checkpoint."""


def look(settings: DatabaseSettings) -> DatabaseStatus:
    """Return the status; raises UnavailableError if a server of somebody else's does not answer."""
    server = EmbeddedServer(settings.data_dir) if settings.url is None else None
    if server and server.pid() is None:
        return DatabaseStatus(
            server=settings.server_name(),
            running=False,
            keeps_running=server.keeps_running,
            latest_revision=latest_revision(),
        )
    with closing(Database.connect(settings)) as database, database.connection() as connection:
        return _running(database, connection, server)


def position_of(connection: sa.Connection) -> int | None:
    """Return the ledger's position, None if there are no tables."""
    if applied_revision(connection) is None:
        return None
    return int(connection.scalar(sa.select(schema.ledger.c.position)) or 0)


def _running(
    database: Database, connection: sa.Connection, server: EmbeddedServer | None
) -> DatabaseStatus:
    seen = DatabaseStatus(
        server=database.settings.server_name(),
        running=True,
        keeps_running=server.keeps_running if server else True,
        version=connection.scalar(sa.text("show server_version")),
        address=client_address(database),
        schema_revision=applied_revision(connection),
        latest_revision=latest_revision(),
    )
    if seen.schema_revision is None:
        return seen
    last = last_checkpoint(connection)
    position = position_of(connection) or 0
    found = {
        "bytes": connection.scalar(sa.text("select pg_database_size(current_database())")),
        "ledger": str(connection.scalar(sa.select(schema.ledger.c.id))),
        "position": position,
        "checkpoint": last.number if last else None,
        "unsigned_events": position - (last.position if last else 0),
    }
    return seen.model_copy(update=found)
