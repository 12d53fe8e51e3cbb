"""All tables, in the PostgreSQL schema `collegium`; the migrations lead here from empty.

`events` is the ledger. Its columns stand in the order in which they are hashed (see
`store.ledger.scan`): those of fixed length first, `hash` last.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, TIMESTAMP, UUID

SCHEMA = "collegium"
REPLACED = "collegium_replaced"
"""Where a restore keeps what was there, until it has come to its end."""
metadata = sa.MetaData(schema=SCHEMA)

_Time = TIMESTAMP(timezone=True)


def _given(name: str, kind: sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]]) -> Any:
    return sa.Column(name, kind, nullable=False)


ledger = sa.Table(
    "ledger",
    metadata,
    sa.Column("single", sa.Boolean, primary_key=True),
    _given("id", UUID()),
    _given("position", sa.BigInteger),
    _given("recorded_at", _Time),
    sa.CheckConstraint("single", name="one_row"),
    comment="one row: the head, locked by each append, so that positions have no gaps",
    postgresql_with={"fillfactor": 10},
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    _given("version", sa.BigInteger),
    _given("id", UUID()),
    _given("observed_at", _Time),
    _given("recorded_at", _Time),
    _given("schema_version", sa.Integer),
    _given("stream", sa.Text),
    _given("type", sa.Text),
    _given("idempotency_key", sa.Text),
    _given("payload", sa.Text),
    _given("commitments", sa.Text),
    _given("hash", BYTEA()),
    sa.UniqueConstraint("stream", "version", name="events_stream_version"),
    sa.UniqueConstraint("stream", "idempotency_key", name="events_stream_idempotency_key"),
)

texts = sa.Table(
    "texts",
    metadata,
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("field", sa.Text, primary_key=True),
    sa.Column("salt", BYTEA()),
    sa.Column("text", sa.Text),
    comment="personal text; the chain holds sha256(salt || text), erasing sets both to null",
)

checkpoints = sa.Table(
    "checkpoints",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    _given("position", sa.BigInteger),
    _given("document", sa.Text),
    _given("signature", BYTEA()),
)

read_models = sa.Table(
    "read_models",
    metadata,
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("stream", sa.Text, primary_key=True),
    _given("version", sa.BigInteger),
    _given("state", sa.Text),
    comment="each stream folded into a state; version: how far",
)

read_model_progress = sa.Table(
    "read_model_progress",
    metadata,
    sa.Column("model", sa.Text, primary_key=True),
    _given("position", sa.BigInteger),
    comment="up to which position all rows of a model are folded",
)

keys = sa.Table(
    "keys",
    metadata,
    sa.Column("key_id", sa.Text, primary_key=True),
    _given("label", sa.Text),
    _given("scopes", ARRAY(sa.Text)),
    sa.Column("namespaces", ARRAY(sa.Text), comment="null: all"),
    _given("calls_per_minute", sa.Integer),
    _given("hash", BYTEA()),
    sa.Column("previous_hash", BYTEA()),
    sa.Column("previous_until", _Time),
    _given("created_at", _Time),
    sa.Column("expires_at", _Time),
    sa.Column("revoked_at", _Time),
    comment="who may call; only hashes of secrets",
)

requests = sa.Table(
    "requests",
    metadata,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("idempotency_key", sa.Text, primary_key=True),
    _given("digest", sa.Text),
    sa.Column("claimed_at", _Time, nullable=False, index=True),
    comment="what was asked under which Idempotency-Key",
)
