"""Callbacks that run in the browser; their functions are in `assets/`, so that no page needs an inline script."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash


def clientside(app: Dash, namespace: str, function: str, *dependencies: Any, initial: bool = True) -> None:
    """Run `dash_clientside[namespace][function]` with the inputs and states, into the outputs."""
    untyped: Any = app
    untyped.clientside_callback(
        ClientsideFunction(namespace, function), *dependencies, prevent_initial_call=not initial
    )
