"""Invisible inputs of callbacks: a value that changes, and time that passes."""

from __future__ import annotations

from typing import Any

from frontend.components.element import NAMESPACE, Element


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
