"""The server of the application."""

from __future__ import annotations

from backend.app import create_app
from backend.events.hub import EventHub
from backend.kit.settings import Settings
from bapo.deploy.http_server import Server


def build_server(settings: Settings) -> Server:
    """A server that is not running yet."""
    app = create_app(settings)
    return Server(app, app.state.context.part(EventHub).close_streams_threadsafe)
