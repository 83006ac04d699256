"""A page: its address, its layout, and the stream of events that keeps it up to date; which one an address shows."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from frontend.components.actions import FAILURES
from frontend.components.markup import lean
from frontend.components.notices import error_notice, link_button, notice
from frontend.delivery.documents import DASHBOARD, address
from frontend.request.session import Api

Query = Mapping[str, str]
PageLayout = Callable[[Api, Mapping[str, str], Query], Awaitable[Any]]


class Living(NamedTuple):
    """The content of a page, and the newest event in it, after which the page's stream continues."""

    content: Any
    last_event_id: int | None


class Page(NamedTuple):
    """An address and its layout."""

    pattern: str
    """Regular expression of its addresses, whose named groups are parts of the address."""
    layout: PageLayout
    section: str
    """Section of docs/dashboard.md that explains the page."""
    query_makes_page: bool = False
    """True if another query is another page; else the page itself follows its query."""
    events: str | None = None
    """Stream of events that the page lives on; names in braces are parts of the address."""


def query_of(search: str | None) -> dict[str, str]:
    """Return a query as a mapping: `?tab=batch` → {"tab": "batch"}."""
    return dict(parse_qsl((search or "").removeprefix("?")))


class Shown(NamedTuple):
    """Content of the frame, in the order of the outputs of the frame's callback."""

    content: Any
    route: str | None
    """Another one is another page: its path, followed by `?` and the query where that makes the page."""
    events: dict[str, Any] | None
    """The stream that the page lives on."""
    about: str
    """Address of the section that explains the page."""


async def page_at(api: Api, pages: Sequence[Page], pathname: str, search: str) -> Shown:
    """Return the page of an address."""
    for page in pages:
        match = re.fullmatch(page.pattern, pathname)
        if match is None:
            continue
        key = f"{pathname}?{search.removeprefix('?')}" if page.query_makes_page else pathname
        about = address(f"{DASHBOARD}#{page.section}")
        try:
            shown = await page.layout(api, match.groupdict(), query_of(search))
        except FAILURES as error:
            # Without a page, nothing shows what a stream tells.
            return Shown(error_notice(error), None, None, about)
        content, after = shown if isinstance(shown, Living) else (shown, None)
        events = {"url": page.events.format(**match.groupdict()), "after": after} if page.events else None
        return Shown(lean(content), key, events, about)
    missing = notice(
        "Page not found",
        f"There is no page at {pathname}.",
        icon_name="alert",
        action=link_button("Back to runs", "/runs", variant="light"),
    )
    return Shown(missing, pathname, None, address(DASHBOARD))
