"""Brings the database's schema up to date."""

from __future__ import annotations

from importlib import resources

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

MIGRATION_LOCK = 0x6261706F01
"""Advisory lock: two servers that start at once migrate one after the other."""


def alembic_config(connection: Connection) -> Config:
    """Alembic's settings; there is no alembic.ini."""
    config = Config()
    config.set_main_option("script_location", str(resources.files("migrations")))
    config.attributes["connection"] = connection
    return config


def migrate(engine: Engine) -> None:
    """Apply all migrations that the database lacks."""
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
        command.upgrade(alembic_config(connection), "head")


def is_current(engine: Engine) -> bool:
    """Whether the schema is the one that this version works with."""
    with engine.connect() as connection:
        script = ScriptDirectory.from_config(alembic_config(connection))
        return MigrationContext.configure(connection).get_current_revision() == script.get_current_head()
