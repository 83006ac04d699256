"""Boards: the list of a person's projects, and one board with its charts, texts and figures."""

from __future__ import annotations

from dash import Dash

from frontend.pages.boards import changes, editor, listing, sharing
from frontend.pages.boards.listing import list_layout
from frontend.pages.boards.page import layout
from frontend.session import Api

__all__ = ["layout", "list_layout", "register"]


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of both pages."""
    listing.register(app, api)
    changes.register(app, api)
    editor.register(app, api)
    sharing.register(app, api)
