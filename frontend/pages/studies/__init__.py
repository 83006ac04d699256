"""Studies: the list, the form for a new one, and the page of one with its progress and results."""

from __future__ import annotations

from dash import Dash

from frontend.pages.studies import editor, page
from frontend.pages.studies.editor import new_layout
from frontend.pages.studies.listing import list_layout
from frontend.pages.studies.page import layout
from frontend.session import Api

__all__ = ["layout", "list_layout", "new_layout", "register"]


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of all pages of studies."""
    editor.register(app, api)
    page.register(app, api)
