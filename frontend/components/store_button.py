"""Buttons in lists that are drawn anew while people press them.

Dash ties a press to its button: where an answer that is under way replaces the button, the press is lost with it. These
buttons tell a store instead, which stays (`assets/pressed.js`).
"""

from __future__ import annotations

import json
from typing import Any

from dash import dcc

from frontend.components.attributes import attributes


def pressed(name: str) -> str:
    """Identifier of the store; its data is what the pressed button says, and when."""
    return f"{name}-pressed"


def press_store(name: str) -> dcc.Store:
    """Stands outside of the list, once."""
    return dcc.Store(id=pressed(name))


def pressing(name: str, /, **what: Any) -> dict[str, Any]:
    """Attributes of a button that says this."""
    return attributes(data_press=json.dumps({"store": pressed(name), "what": what}))
