"""Dialogs and drawers: a form with one button, or a panel that a callback fills."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dash_mantine_components as dmc
from dash import html


def form_dialog(name: str, title: str, fields: Iterable[Any], button: str, **properties: Any) -> dmc.Modal:
    """Return a closed dialog `NAME-dialog` with a form, its problems `NAME-problem`, and its button `NAME-submit`."""
    return dmc.Modal(_form(name, fields, button), id=f"{name}-dialog", title=title, centered=True, **properties)


def form_drawer(name: str, title: str, fields: Iterable[Any], button: str = "Save") -> dmc.Drawer:
    """Return a closed drawer `NAME-drawer` with a form (see `form_dialog`).

    Its button stays at the lower edge: a preview that comes while it is pressed does not push it away.
    """
    return drawer(name, _form(name, fields, button), title=title, className="form-drawer")


def drawer(name: str, *content: Any, title: str = "", size: str = "lg", **properties: Any) -> dmc.Drawer:
    """Return a closed drawer `NAME-drawer` at the right edge."""
    return dmc.Drawer(list(content), id=f"{name}-drawer", position="right", size=size, title=title, **properties)


def _form(name: str, fields: Iterable[Any], button: str) -> dmc.Stack:
    submit = dmc.Group([dmc.Button(button, id=f"{name}-submit")], justify="flex-end")
    foot = dmc.Stack([html.Div(id=f"{name}-problem"), submit], gap="sm", className="form-foot")
    return dmc.Stack([*fields, foot], gap="sm")
