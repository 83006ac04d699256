"""The schema: built by the migrations, the same as the models'."""

from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError

from backend.kit.database import Database
from backend.models import Base
from backend.ops.migrate import migrate, revisions


def test_the_migrations_build_what_the_models_say(database: Database) -> None:
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_migrating_again_changes_nothing(database: Database) -> None:
    for _ in range(2):
        with database.engine.connect() as connection:
            revision, head = revisions(connection)
        assert revision == head
        migrate(database.engine)


def test_a_state_that_is_none_is_refused(database: Database) -> None:
    with database.engine.connect() as connection:
        connection.execute(text("INSERT INTO projects (id, name) VALUES ('p', 'p')"))
        connection.execute(text("INSERT INTO users (id, name, role) VALUES ('u', 'u', 'admin')"))
        with pytest.raises(IntegrityError, match="run_status"):
            connection.execute(
                text(
                    "INSERT INTO runs (id, project_id, owner_id, name, status, method, config, explicit, diff)"
                    " VALUES ('r', 'p', 'u', 'r', 'sleeping', 'bapo', '{}', '{}', '{}')"
                )
            )


def test_what_every_run_needs_is_there_from_the_first(database: Database) -> None:
    columns = {column["name"] for column in inspect(database.engine).get_columns("runs")}
    assert {"project_id", "owner_id", "group_id", "parent_id"} <= columns
