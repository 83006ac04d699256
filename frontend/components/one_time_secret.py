"""A secret that is shown once, to be copied."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from frontend.components.attributes import attributes
from frontend.components.icon import icon


def one_time_secret(label: str, secret: str, note: Any) -> html.Div:
    """Returns the secret, a button that copies it, and what it is for."""
    copied: Any = [
        dmc.Code(secret, className="secret-text", block=True, **attributes(aria_label=label)),
        dcc.Clipboard(content=secret, title="Copy", className="secret-copy"),
    ]
    return html.Div(
        [
            dmc.Group([icon("info", 16), dmc.Text(label, fw=600, size="sm")], gap="xs"),
            html.Div(copied, className="secret-line"),
            dmc.Text(note, size="sm", c="dimmed"),
        ],
        className="one-time-secret",
        role="status",
    )
