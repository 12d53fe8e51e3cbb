"""Who may call: keys, and what was asked under which `Idempotency-Key`."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, TIMESTAMP

from collegium.core import InvalidInputError

revision = "0002"
down_revision = "0001"

_SCHEMA = "collegium"
_TIME = TIMESTAMP(timezone=True)


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "keys",
        sa.Column("key_id", sa.Text, primary_key=True),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("scopes", ARRAY(sa.Text), nullable=False),
        sa.Column("namespaces", ARRAY(sa.Text), comment="null: all"),
        sa.Column("calls_per_minute", sa.Integer, nullable=False),
        sa.Column("hash", BYTEA(), nullable=False),
        sa.Column("previous_hash", BYTEA()),
        sa.Column("previous_until", _TIME),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME),
        sa.Column("revoked_at", _TIME),
        comment="who may call; only hashes of secrets",
        schema=_SCHEMA,
    )
    op.create_table(
        "requests",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("idempotency_key", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("claimed_at", _TIME, nullable=False, index=True),
        comment="what was asked under which Idempotency-Key",
        schema=_SCHEMA,
    )


def downgrade() -> None:
    """Refuse: keys that are out cannot be made again."""
    raise InvalidInputError("migration 0002 has no way back: restore a backup instead")
