"""Buttons in lists that are redrawn while people press them.

Dash ties a press to its button: if an answer that is under way replaces the button, the press is lost with it. These
buttons write into a store instead, which stays (`assets/store_button.js`).
"""

from __future__ import annotations

import json
from typing import Any

from dash import Input

from frontend.components.attributes import attributes
from frontend.components.store import Store


def _store_id(name: str) -> str:
    """Return the identifier of the store; its data is what the pressed button says, and when it was pressed."""
    return f"{name}-button"


def button_store(name: str) -> Store:
    """Return the store, which must be placed outside the list."""
    return Store(id=_store_id(name))


def pressed_in(name: str) -> Input:
    """Return the press of any of the buttons, for `when_pressed`."""
    return Input(_store_id(name), "data")


def store_button(name: str, /, **what: Any) -> dict[str, Any]:
    """Return the attributes of a button that writes `what` into the store."""
    return attributes(data_store_button=json.dumps({"store": _store_id(name), "what": what}))
