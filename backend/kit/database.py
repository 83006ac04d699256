"""Connections to PostgreSQL."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson
from psycopg.conninfo import make_conninfo
from sqlalchemy import ColumnElement, Engine, create_engine, func, select
from sqlalchemy.orm import Session, sessionmaker

from backend.kit.events import publish_on_commit
from backend.kit.project_scope import scope_queries
from bapo.config.paths import NO_FOLDERS, PermittedFolders

NUM_THREADS = 20
"""Requests are served by as many threads, and none of them waits for a connection."""
NUM_BACKGROUND = 8
"""Number of connections of the threads that work besides the requests."""


def _dump_json(value: Any) -> str:
    # NaN and infinities, which JSON lacks, become null.
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


_FOLDERS = "folders"


class AnnouncingSession(Session):
    """A session whose commit publishes the events that were announced in it, and that can be limited to projects."""


publish_on_commit(AnnouncingSession)
scope_queries(AnnouncingSession)


class Database:
    """An engine and its sessions."""

    def __init__(self, url: str, folders: PermittedFolders = NO_FOLDERS) -> None:
        """Connect to `url`; `folders` are those whose files the configs of its sessions may name, by default none."""
        self.engine: Engine = create_engine(
            url,
            pool_size=5,
            max_overflow=NUM_THREADS + NUM_BACKGROUND - 5,
            pool_pre_ping=True,
            json_serializer=_dump_json,
            json_deserializer=orjson.loads,
        )
        info = {_FOLDERS: folders}
        self._sessions = sessionmaker(self.engine, expire_on_commit=False, class_=AnnouncingSession, info=info)

    def session(self) -> Session:
        """Return a session; close it. Use as `with database.session() as session, session.begin():`."""
        return self._sessions()

    @property
    def conninfo(self) -> str:
        """The same connection for psycopg itself, by the parameters that SQLAlchemy gives it.

        An address would not do: SQLAlchemy writes a space in one as +, which libpq takes for a plus.
        """
        _, parameters = self.engine.dialect.create_connect_args(self.engine.url)
        # Of Python's side alone.
        del parameters["context"]
        return make_conninfo(**parameters)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def permitted_folders(session: Session) -> PermittedFolders:
    """Return the folders whose files a config may name."""
    folders: PermittedFolders = session.info[_FOLDERS]
    return folders


def clock(session: Session) -> datetime:
    """Return the database's clock, the only one that times are compared with."""
    return session.scalars(select(func.now())).one()


def seconds_from_now(seconds: float) -> ColumnElement[Any]:
    """Return a time of the database's clock."""
    return func.now() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)
