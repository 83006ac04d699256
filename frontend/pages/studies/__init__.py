"""Studies: the list, the form for a new one, and the page of one with its progress and results."""

from __future__ import annotations

from dash import Dash

from frontend.components.page import Page
from frontend.pages.studies import editor, overview, page
from frontend.request.session import Api

PAGES = (
    Page("/studies", overview.layout, section="studies"),
    Page("/studies/new", editor.layout, section="studies", query_makes_page=True),
    Page("/studies/(?P<study_id>[^/]+)", page.layout, section="studies"),
)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of all pages of studies."""
    editor.register(app, api)
    page.register(app, api)
