"""Boards: the list of a person's projects, and one board with its charts, texts and figures."""

from __future__ import annotations

from dash import Dash

from frontend.components.page import Page
from frontend.pages.boards import changes, editor, links, overview, page
from frontend.request.session import Api

PAGES = (
    Page("/boards", overview.layout, section="boards"),
    Page("/boards/(?P<board_id>[^/]+)", page.layout, section="boards", events="/api/v1/events"),
)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of both pages."""
    overview.register(app, api)
    changes.register(app, api)
    editor.register(app, api)
    links.register(app, api)
