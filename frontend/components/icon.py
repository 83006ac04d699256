"""Line icons, drawn by CSS masks so that they take the colour of the text next to them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import quote

import dash_mantine_components as dmc
from dash import html

from frontend.components.elements import attributes

IconName = Literal[
    "alert",
    "archive",
    "bell",
    "board",
    "book",
    "bookmark",
    "check",
    "columns",
    "command",
    "compare",
    "copy",
    "cross",
    "data",
    "download",
    "expand",
    "fork",
    "info",
    "link",
    "send",
    "logout",
    "menu",
    "moon",
    "notes",
    "pause",
    "play",
    "plus",
    "queue",
    "runs",
    "search",
    "sliders",
    "star",
    "star-filled",
    "stop",
    "study",
    "sun",
    "tag",
    "trash",
    "user",
    "worker",
]


def icon(name: IconName, size: int = 18) -> html.Span:
    """Return a decorative icon; its meaning must be given next to it or in a label."""
    return html.Span(
        className=f"icon icon-{name}", style={"width": size, "height": size}, **attributes(aria_hidden="true")
    )


ICONS = Path(__file__).parents[1] / "assets" / "icons"
_SIDE = 24
"""Side of the icons' view boxes."""


def icon_styles() -> str:
    """Return the rules of `.icon`, whose mask is a row of all icons, and of `.icon-NAME`, its place in the row.

    A browser makes a separate document of each SVG that a style names: of a page's twenty, that is nearly half of what
    its first styles take.
    """
    files = sorted(ICONS.glob("*.svg"))
    placed = (
        path.read_text("utf-8")
        .strip()
        .replace("<svg ", f'<svg x="{_SIDE * place}" width="{_SIDE}" height="{_SIDE}" ', 1)
        for place, path in enumerate(files)
    )
    row = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIDE * len(files)} {_SIDE}">{"".join(placed)}</svg>'
    mask = f'url("data:image/svg+xml,{quote(row)}") 0 0 / {100 * len(files)}% 100% no-repeat'
    rules = [f".icon {{ -webkit-mask: {mask}; mask: {mask}; }}"]
    for place, path in enumerate(files):
        # 0 % is the row's left end at the icon's left edge, and 100 % its right end at the right edge.
        position = f"{100 * place / (len(files) - 1):.5f}% 0"
        rules.append(f".icon-{path.stem} {{ -webkit-mask-position: {position}; mask-position: {position}; }}")
    return "\n".join(rules)


def explained(text: str, *, size: int = 14) -> dmc.Tooltip:
    """Return a small sign next to a word, with one explanation on hover and by keyboard; `size` in pixels."""
    sign = html.Span(icon("info", size), className="chart-info", tabIndex=0, **attributes(role="img", aria_label=text))
    return dmc.Tooltip(sign, label=text)
