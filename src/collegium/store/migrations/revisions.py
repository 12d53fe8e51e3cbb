"""Which migrations there are, which are applied, and applying the missing ones.

Files are named `NNNN_subject.py`; the number is the revision, and each follows the one before.
"""

from functools import cache
from pathlib import Path

import sqlalchemy as sa

from collegium.store.schema import REPLACED, SCHEMA

_FOLDER = Path(__file__).parent
# Any fixed number does: it keeps two upgrades from running at once.
_LOCK = 0x636F6C6C


@cache
def latest_revision() -> str:
    """Return the number of the newest migration of this release."""
    return max(path.name[:4] for path in (_FOLDER / "versions").glob("[0-9]*.py"))


def applied_revision(connection: sa.Connection) -> str | None:
    """Return the number of the newest migration in the database, None if it is empty."""
    table = f"{SCHEMA}.alembic_version"
    if connection.scalar(sa.text("select to_regclass(:table)"), {"table": table}) is None:
        return None
    revision: str | None = connection.scalar(sa.text(f"select version_num from {table}"))
    return revision


def is_being_restored(connection: sa.Connection) -> bool:
    """Return whether a backup is being put in the place of the database, or was half way."""
    found = connection.scalar(sa.text("select to_regnamespace(:name)"), {"name": REPLACED})
    return found is not None


def upgrade(connection: sa.Connection, revision: str = "head") -> None:
    """Apply the migrations up to `revision`, as a part of the connection's transaction."""
    from alembic import command
    from alembic.config import Config

    connection.execute(sa.text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    connection.execute(sa.text(f"create schema if not exists {SCHEMA}"))
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
