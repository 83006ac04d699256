"""What a route can ask for: settings, a database session, the event hub."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.orm import Session

from backend.database import Database
from backend.events.hub import EventHub
from backend.settings import Settings
from backend.workers.dispatcher import Dispatcher


@dataclass(frozen=True)
class Context:
    """The parts of a running server."""

    settings: Settings
    database: Database
    hub: EventHub
    dispatcher: Dispatcher


def context_of(request: Request) -> Context:
    """The server that this request came to."""
    context: Context = request.app.state.context
    return context


def _session(request: Request) -> Iterator[Session]:
    with context_of(request).database.session() as session, session.begin():
        yield session


def _settings(request: Request) -> Settings:
    return context_of(request).settings


# Committed when the route returns, before the answer is sent: who has the answer sees its effect.
DbSession = Annotated[Session, Depends(_session, scope="function")]
SettingsOf = Annotated[Settings, Depends(_settings)]
ContextOf = Annotated[Context, Depends(context_of)]
