"""Prompt lists: which prompts the next runs leave out, and which they see more or less often."""

from __future__ import annotations

from dash import Dash

from frontend.pages.prompt_lists import editing, one, overview
from frontend.session import Api

list_layout = overview.layout
layout = one.layout


def register(app: Dash, api: Api) -> None:
    """Register making, filling and removing of lists."""
    overview.register(app, api)
    editing.register(app, api)
