"""The page's address, and links that change it without loading another document."""

from __future__ import annotations

from typing import Any

from frontend.components.element import NAMESPACE, Element


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
