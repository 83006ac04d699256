"""A chart of Plotly on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from frontend.components.element import NAMESPACE, Element


class Graph(Element):
    """Draws a figure when it is in sight, as large as its place (assets/graph.js); nothing while it has none.

    Dash's own draws every chart of a page at once, each first without anything in it.
    """

    _namespace = NAMESPACE
    _prop_names = ["id", "className", "figure", "style"]  # noqa: RUF012 - as Dash declares them

    def __init__(
        self,
        id: str | Mapping[str, str],
        figure: Any = None,
        *,
        style: Mapping[str, Any] | None = None,
        look: str = "",
    ) -> None:
        super().__init__(id=id, figure=figure, style=style, className=look)
