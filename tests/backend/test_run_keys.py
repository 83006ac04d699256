"""The migration that moves idempotency keys of runs to those of all other requests."""

from __future__ import annotations

from alembic import command
from sqlalchemy import Connection, text

from backend.kit.database import Database
from backend.ops.migrate import alembic_config
from tests.support.services import new_database

ROWS = (
    "INSERT INTO projects (id, name) VALUES ('p', 'p')",
    "INSERT INTO users (id, name, role) VALUES ('u', 'ada', 'admin')",
    "INSERT INTO runs (id, project_id, owner_id, name, status, method, config, explicit, diff, idempotency_key,"
    " request_hash, created_at) VALUES"
    " ('new', 'p', 'u', 'new', 'draft', 'bapo', '{}', '{}', '{}', 'key', 'digest', now() - interval '6 days'),"
    " ('old', 'p', 'u', 'old', 'draft', 'bapo', '{}', '{}', '{}', 'past', 'digest', now() - interval '8 days'),"
    " ('without', 'p', 'u', 'without', 'draft', 'bapo', '{}', '{}', '{}', NULL, NULL, now())",
)


def moved_keys(connection: Connection) -> list[tuple[object, ...]]:
    query = text("SELECT user_id, key, digest, answer FROM idempotent_requests")
    return [tuple(row) for row in connection.execute(query)]


def test_keys_of_the_last_week_move_and_return(postgres_server: str) -> None:
    with new_database(postgres_server) as url:
        database = Database(url)
        with database.engine.begin() as connection:
            config = alembic_config(connection)
            command.downgrade(config, "0031")
            for row in ROWS:
                connection.execute(text(row))
            command.upgrade(config, "0032")
            assert moved_keys(connection) == [("u", "key", "digest", {"run_id": "new"})]
            command.downgrade(config, "0031")
            assert moved_keys(connection) == []
            kept = connection.execute(text("SELECT id, request_hash FROM runs WHERE idempotency_key = 'key'"))
            assert [tuple(row) for row in kept] == [("new", "digest")]
        database.close()
