"""Routing of addresses to pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from frontend.components.actions import FAILURES
from frontend.components.markup import lean
from frontend.components.notices import error_notice, link_button, notice
from frontend.documents import DASHBOARD, address
from frontend.page import Living, Page, query_of
from frontend.session import Api


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
        match = page.pattern.fullmatch(pathname)
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
