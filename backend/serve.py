"""The server of the application."""

from __future__ import annotations

from backend.app import create_app
from backend.notices.events.hub import EventHub
from backend.settings.environment import Settings
from bapo.deploy.http_server import Server


def build_server(settings: Settings) -> Server:
    """Return a server that is not running yet."""
    app = create_app(settings)
    return Server(app, app.state.context.part(EventHub).close_streams_threadsafe)
