"""The ledger: events, its head, erasable texts, checkpoints, read models."""

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA, TIMESTAMP, UUID

from collegium.core import InvalidInputError

revision = "0001"
down_revision = None

_SCHEMA = "collegium"
_TIME = TIMESTAMP(timezone=True)
_HEAD = f"insert into {_SCHEMA}.ledger values (true, gen_random_uuid(), 0, '-infinity')"


def upgrade() -> None:
    """Create everything, and the head at position 0."""
    _head()
    _events()
    _texts()
    _checkpoints()
    _read_models()
    op.execute(_HEAD)
    op.execute(Path(__file__).with_name("0001_append.sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Refuse: the ledger is never thrown away by a migration."""
    raise InvalidInputError("migration 0001 has no way back: restore a backup instead")


def _given(name: str, kind: sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]]) -> Any:
    return sa.Column(name, kind, nullable=False)


def _head() -> None:
    op.create_table(
        "ledger",
        sa.Column("single", sa.Boolean, primary_key=True),
        _given("id", UUID()),
        _given("position", sa.BigInteger),
        _given("recorded_at", _TIME),
        sa.CheckConstraint("single", name="one_row"),
        comment="one row: the head, locked by each append, so that positions have no gaps",
        postgresql_with={"fillfactor": 10},
        schema=_SCHEMA,
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        _given("version", sa.BigInteger),
        _given("id", UUID()),
        _given("observed_at", _TIME),
        _given("recorded_at", _TIME),
        _given("schema_version", sa.Integer),
        _given("stream", sa.Text),
        _given("type", sa.Text),
        _given("idempotency_key", sa.Text),
        _given("payload", sa.Text),
        _given("commitments", sa.Text),
        _given("hash", BYTEA()),
        sa.UniqueConstraint("stream", "version", name="events_stream_version"),
        sa.UniqueConstraint("stream", "idempotency_key", name="events_stream_idempotency_key"),
        schema=_SCHEMA,
    )


def _texts() -> None:
    op.create_table(
        "texts",
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("field", sa.Text, primary_key=True),
        sa.Column("salt", BYTEA()),
        sa.Column("text", sa.Text),
        comment="personal text; the chain holds sha256(salt || text), erasing sets both to null",
        schema=_SCHEMA,
    )


def _checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        _given("position", sa.BigInteger),
        _given("document", sa.Text),
        _given("signature", BYTEA()),
        schema=_SCHEMA,
    )


def _read_models() -> None:
    op.create_table(
        "read_models",
        sa.Column("model", sa.Text, primary_key=True),
        sa.Column("stream", sa.Text, primary_key=True),
        _given("version", sa.BigInteger),
        _given("state", sa.Text),
        comment="each stream folded into a state; version: how far",
        schema=_SCHEMA,
    )
    op.create_table(
        "read_model_progress",
        sa.Column("model", sa.Text, primary_key=True),
        _given("position", sa.BigInteger),
        comment="up to which position all rows of a model are folded",
        schema=_SCHEMA,
    )
