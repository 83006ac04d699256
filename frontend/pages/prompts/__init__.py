"""Prompts over all runs of a project: the list, and one prompt across runs."""

from __future__ import annotations

from dash import Dash

from frontend.pages.prompts import across, listing
from frontend.session import Api

list_layout = listing.layout
layout = across.layout


def register(app: Dash, api: Api) -> None:
    """Register the list's filters, and what a prompt's page loads after itself."""
    listing.register(app)
    across.register(app, api)
