"""A file that is dropped or chosen."""

from __future__ import annotations

from typing import Any

from frontend.components.element import NAMESPACE, Element


class FileInput(Element):
    """Takes a file that is dropped on its content, or chosen after a press on it (assets/file_input.js).

    Callbacks are given its name as `filename` and its `contents` as a data address. A larger file, or one that ends
    otherwise than `accept` says (".csv,.txt"), is refused with what to do instead.
    """

    _namespace = NAMESPACE
    _prop_names = ["children", "id", "accept", "max_size", "contents", "filename"]  # noqa: RUF012 - as Dash declares them

    def __init__(self, children: Any, id: str, *, accept: str, max_size: int) -> None:
        super().__init__(children=children, id=id, accept=accept, max_size=max_size)
