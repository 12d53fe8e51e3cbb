"""How alembic runs here: on the connection that `store.database` hands over."""

from alembic import context

from collegium.store.schema import SCHEMA, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table_schema=SCHEMA,
)
with context.begin_transaction():
    context.run_migrations()
