"""Migrates the database's schema."""

from __future__ import annotations

from importlib import resources

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from bapo import __version__

MIGRATION_LOCK = 0x6261706F01
"""Advisory lock: two servers that start at once migrate one after the other."""
LAST_OF_DEVELOPMENT = "3dcd0c4"
"""The commit whose migrations bring a database of the development before the first release to our first revision."""


def alembic_config(connection: Connection) -> Config:
    """Return Alembic's settings; there is no alembic.ini."""
    config = Config()
    config.set_main_option("script_location", str(resources.files("migrations")))
    config.attributes["connection"] = connection
    return config


class SchemaError(ValueError):
    """The database's schema is not the one that this version works with; the message says what to do."""


def migrate(engine: Engine) -> None:
    """Apply all migrations that the database lacks. Raises SchemaError for a revision that this version lacks."""
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
        _refuse_unknown(connection)
        command.upgrade(alembic_config(connection), "head")


def check_schema(engine: Engine) -> None:
    """Raise SchemaError unless the schema is the one that this version works with."""
    with engine.connect() as connection:
        found = _revision(connection)
        _refuse_unknown(connection)
        head = _script(connection).get_current_head()
        if found != head:
            raise SchemaError(
                f"The database's schema is at {found or 'nothing'}, this version needs {head}: "
                "run `python -m backend migrate` first."
            )


def _script(connection: Connection) -> ScriptDirectory:
    return ScriptDirectory.from_config(alembic_config(connection))


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _refuse_unknown(connection: Connection) -> None:
    found = _revision(connection)
    script = _script(connection)
    known = {each.revision for each in script.walk_revisions()}
    if found is None or found in known:
        return
    if found < str(script.get_base()):
        raise SchemaError(
            f"The database's schema is at {found}, from before the first release; version {__version__} begins at "
            f"{script.get_base()}. Migrate it once with `git checkout {LAST_OF_DEVELOPMENT} && ./run --no-demo`, then "
            "start this version again, or begin with a new database."
        )
    raise SchemaError(
        f"The database's schema is at {found}, which version {__version__} does not know (its newest is "
        f"{script.get_current_head()}): a newer version has migrated it. Start that version, or restore a backup "
        "from before."
    )


def revisions(connection: Connection) -> tuple[str | None, str]:
    """Return the schema's revision, and the one that this version works with."""
    head = _script(connection).get_current_head()
    assert head is not None, "there are migrations"
    return _revision(connection), head
