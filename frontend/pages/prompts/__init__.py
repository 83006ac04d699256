"""Prompts over all runs of a project: the list, and one prompt across runs."""

from __future__ import annotations

from dash import Dash

from frontend.components.page import Page
from frontend.pages.prompts import overview, page
from frontend.request.session import Api

PAGES = (
    Page("/prompts", overview.layout, section="prompts-over-all-runs", query_makes_page=True),
    Page("/prompts/(?P<prompt_id>.+)", page.layout, section="prompts-over-all-runs", query_makes_page=True),
)


def register(app: Dash, api: Api) -> None:
    """Register the list's filters, and what a prompt's page loads after itself."""
    overview.register(app)
    page.register(app, api)
