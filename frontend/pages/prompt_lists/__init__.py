"""Prompt lists: which prompts the next runs leave out, and which they see more or less often."""

from __future__ import annotations

from dash import Dash

from frontend.components.page import Page
from frontend.pages.prompt_lists import editor, overview, page
from frontend.request.session import Api

PAGES = (
    Page("/prompt-lists", overview.layout, section="prompt-lists", query_makes_page=True),
    Page("/prompt-lists/(?P<list_id>[^/]+)", page.layout, section="prompt-lists", query_makes_page=True),
)


def register(app: Dash, api: Api) -> None:
    """Register making, filling and removing of lists."""
    overview.register(app, api)
    editor.register(app, api)
