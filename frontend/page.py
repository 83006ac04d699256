"""What a page is: an address, what stands there, and the stream of events that keeps it new."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from frontend.session import Api

Query = Mapping[str, str]
PageLayout = Callable[[Api, Mapping[str, str], Query], Awaitable[Any]]


class Living(NamedTuple):
    """What a page shows, and the newest event that is in it: the page's stream goes on after it."""

    content: Any
    last_event_id: int | None


class Page(NamedTuple):
    """An address and what it shows."""

    pattern: re.Pattern[str]
    title: str
    layout: PageLayout
    query_makes_page: bool
    """Whether another query is another page; else the page itself follows its query."""
    events: str | None = None
    """Stream of events that the page lives on; names in braces are parts of the address."""


def query_of(search: str | None) -> dict[str, str]:
    """`?tab=batch` → {"tab": "batch"}."""
    return dict(parse_qsl((search or "").removeprefix("?")))
