"""Line icons, drawn by CSS masks so that they take the colour of the text next to them."""

from __future__ import annotations

from typing import Literal

from dash import html

from frontend.components.attributes import attributes

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
