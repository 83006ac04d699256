"""Run by Alembic: applies the migrations over the connection that `backend.ops.migrate` hands in."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from backend.models import Base

connection: Connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, transaction_per_migration=False)
with context.begin_transaction():
    context.run_migrations()
