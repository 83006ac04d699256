"""A secret that is shown once, and any other text to be copied."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import html

from frontend.components.attributes import attributes
from frontend.components.icon import icon


def one_time_secret(label: str, secret: str, note: Any) -> html.Div:
    """Return the secret, a button that copies it, and what it is for."""
    text = dmc.Code(secret, className="secret-text", block=True, **attributes(aria_label=label))
    return html.Div(
        [
            dmc.Group([icon("info", 16), dmc.Text(label, fw=600, size="sm")], gap="xs"),
            to_copy(text),
            dmc.Text(note, size="sm", c="dimmed"),
        ],
        className="one-time-secret",
        role="status",
    )


def to_copy(text: dmc.Code) -> html.Div:
    """Return the text with a button that copies it (assets/copy_button.js)."""
    copy = html.Button(
        icon("copy"), type="button", title="Copy", className="icon-button secret-copy", **attributes(aria_label="Copy")
    )
    return html.Div([text, copy], className="secret-line")
