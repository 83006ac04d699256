"""A chart of Plotly on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash.development.base_component import Component


class Graph(Component):
    """Draws a figure when it is in sight, as large as its place (assets/graph.js); nothing while it has none.

    Dash's own draws every chart of a page at once, each first without anything in it.
    """

    _namespace = "bapo_elements"
    _type = "Graph"
    _prop_names = ["id", "className", "figure", "style"]  # noqa: RUF012 - as Dash declares them
    _children_props: list[str] = []  # noqa: RUF012
    _base_nodes = ["children"]  # noqa: RUF012
    _valid_wildcard_attributes: list[str] = []  # noqa: RUF012
    available_properties = _prop_names
    available_wildcard_properties: list[str] = []  # noqa: RUF012

    def __init__(
        self,
        id: str | Mapping[str, str],
        figure: Any = None,
        *,
        style: Mapping[str, Any] | None = None,
        look: str = "",
    ) -> None:
        untyped: Any = super()
        untyped.__init__()
        # Given to Dash's own way, each would have it look for a package of the namespace's name, through all folders.
        self.id, self.figure, self.style, self.className = id, figure, style, look
