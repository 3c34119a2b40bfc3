"""Alembic runs this: migrations go through the connection that ``migrate.upgrade`` opened."""

from __future__ import annotations

from alembic import context

from queries_orchestration.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    # One that builds an index beside others' work ends its transaction before.
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
