"""A page: its address, its layout, and the stream of events that keeps it up to date."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from frontend.session import Api

Query = Mapping[str, str]
PageLayout = Callable[[Api, Mapping[str, str], Query], Awaitable[Any]]


class Living(NamedTuple):
    """The content of a page, and the newest event in it, after which the page's stream continues."""

    content: Any
    last_event_id: int | None


class Page(NamedTuple):
    """An address and its layout."""

    pattern: re.Pattern[str]
    title: str
    layout: PageLayout
    query_makes_page: bool
    """True if another query is another page; else the page itself follows its query."""
    section: str
    """Section of docs/dashboard.md that explains the page."""
    events: str | None = None
    """Stream of events that the page lives on; names in braces are parts of the address."""


def query_of(search: str | None) -> dict[str, str]:
    """Return a query as a mapping: `?tab=batch` → {"tab": "batch"}."""
    return dict(parse_qsl((search or "").removeprefix("?")))
