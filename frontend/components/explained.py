"""A small sign next to a word, with one explanation on hover and by keyboard."""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html

from frontend.components.attributes import attributes
from frontend.components.icon import icon


def explained(text: str, *, size: int = 14) -> dmc.Tooltip:
    """Return the sign; `size` in pixels."""
    sign = html.Span(icon("info", size), className="chart-info", tabIndex=0, **attributes(role="img", aria_label=text))
    return dmc.Tooltip(sign, label=text)
