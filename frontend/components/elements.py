"""Our own components, which our scripts draw (`window.bapo_elements`), and attributes of elements."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from dash import Input
from dash.development.base_component import Component

NAMESPACE = "bapo_elements"
"""Each component names it itself: Dash looks for it in the class, and not in those that it is made of."""


class Element(Component):
    """A component whose properties are set as they are.

    Given to Dash's own way, each would have it look for a package of the namespace's name, through all folders.
    """

    _namespace = NAMESPACE
    _children_props: list[str] = []  # noqa: RUF012 - as Dash declares them
    _base_nodes = ["children"]  # noqa: RUF012
    _valid_wildcard_attributes: list[str] = []  # noqa: RUF012
    available_wildcard_properties: list[str] = []  # noqa: RUF012
    available_properties: ClassVar[list[str]]

    def __init_subclass__(cls) -> None:
        """Name the component as its class, as its script does."""
        cls._type, cls.available_properties = cls.__name__, cls._prop_names

    def __init__(self, **properties: Any) -> None:
        unknown = properties.keys() - set(self._prop_names)
        assert not unknown, f"{self._type} has no {', '.join(sorted(unknown))}"
        untyped: Any = super()
        untyped.__init__()
        for name, value in properties.items():
            setattr(self, name, value)


def attributes(**values: str) -> dict[str, Any]:
    """Return attributes as properties: `aria_label="Close"` → {"aria-label": "Close"}."""
    return {name.replace("_", "-"): value for name, value in values.items()}


def figure_named(name: str, **values: str) -> dict[str, Any]:
    """Return the properties that make an element a figure with a name, and other attributes."""
    return attributes(role="figure", aria_label=name, **values)


class Location(Element):
    """Tells callbacks what the address is, and leads to where a callback sets a part of it (assets/address.js)."""

    _namespace = NAMESPACE
    _prop_names = ["id", "pathname", "search", "href"]  # noqa: RUF012 - as Dash declares them


class Link(Element):
    """Leads to another page of the dashboard; as any link does, into another tab with a modifier key."""

    _namespace = NAMESPACE
    _prop_names = ["children", "id", "className", "href", "style", "title"]  # noqa: RUF012

    def __init__(self, children: Any, href: str, **properties: Any) -> None:
        super().__init__(children=children, href=href, **properties)


class Store(Element):
    """Holds a value for callbacks, as long as it is on the page (assets/store.js)."""

    _namespace = NAMESPACE
    _prop_names = ["id", "data"]  # noqa: RUF012 - as Dash declares them
    data: Any


class Interval(Element):
    """Counts `n_intervals` on every `interval` milliseconds, unless it is disabled."""

    _namespace = NAMESPACE
    _prop_names = ["id", "interval", "disabled", "n_intervals"]  # noqa: RUF012

    def __init__(self, id: str, interval: int, **properties: Any) -> None:
        super().__init__(id=id, interval=interval, **properties)


def _store_id(name: str) -> str:
    """Return the identifier of the store; its data is what the pressed button says, and when it was pressed."""
    return f"{name}-button"


def button_store(name: str) -> Store:
    """Return the store of the buttons in a list that is redrawn while people press them, to be placed outside the list.

    Dash ties a press to its button: if an answer that is under way replaces the button, the press is lost with it.
    These buttons write into a store instead, which stays (`assets/store.js`).
    """
    return Store(id=_store_id(name))


def pressed_in(name: str) -> Input:
    """Return the press of any of the buttons, for `when_pressed`."""
    return Input(_store_id(name), "data")


def store_button(name: str, /, **what: Any) -> dict[str, Any]:
    """Return the attributes of a button that writes `what` into the store."""
    return attributes(data_store_button=json.dumps({"store": _store_id(name), "what": what}))


class FileInput(Element):
    """Takes a file that is dropped on its content, or chosen after a press on it (assets/file_input.js).

    Callbacks are given its name as `filename` and its `contents` as a data address. A larger file, or one that ends
    otherwise than `accept` says (".csv,.txt"), is refused with what to do instead.
    """

    _namespace = NAMESPACE
    _prop_names = ["children", "id", "accept", "max_size", "contents", "filename"]  # noqa: RUF012 - as Dash declares them

    def __init__(self, children: Any, id: str, *, accept: str, max_size: int) -> None:
        super().__init__(children=children, id=id, accept=accept, max_size=max_size)


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
