"""Text that pages show: points in time, and lines of notes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dash import html

from bapo.figures import formatting
from frontend.components.elements import attributes


def moment(at: datetime | None, *, relative: bool = True, now: datetime | None = None) -> Any:
    """Return an age that keeps itself up to date, or date and time; the exact time with its zone shows on hover.

    Of a moment to come, the age is the time until then. The text is in UTC, until the browser has put its own zone in
    its place.
    """
    if at is None:
        return formatting.MISSING
    now = now or datetime.now(UTC)
    shown, text = "time", formatting.exact_time(at)
    if relative:
        # The browser's clock may differ: whether this is to come is for the server's to say.
        shown, text = ("until", formatting.until(at, now)) if at > now else ("age", formatting.ago(at, now))
    return html.Time(
        text,
        dateTime=at.astimezone(UTC).isoformat(timespec="seconds"),
        className="moment",
        title=formatting.exact_time(at),
        **attributes(data_shown=shown),
    )


def plain(text: str) -> str:
    """Return a line of the API's without the backticks around code, for use outside Markdown."""
    return text.replace("`", "")


def first_line(source: str) -> str:
    """Return the first line that says something, without the signs of a heading."""
    lines = (line.lstrip("#").strip() for line in source.splitlines())
    return next((line for line in lines if line), "")
