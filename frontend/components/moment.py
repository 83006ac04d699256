"""A point in time, which the browser shows in its viewer's zone (assets/time.js)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dash import html

from bapo.figures import formatting
from frontend.components.attributes import attributes


def moment(at: datetime | None, *, relative: bool = True, now: datetime | None = None) -> Any:
    """Returns an age that keeps itself up to date, or date and time; the exact time with its zone shows on hover.

    What stands here is in UTC, until the browser has put its own zone in its place.
    """
    if at is None:
        return formatting.MISSING
    text = formatting.ago(at, now or datetime.now(UTC)) if relative else formatting.exact_time(at)
    return html.Time(
        text,
        dateTime=at.astimezone(UTC).isoformat(timespec="seconds"),
        className="moment",
        title=formatting.exact_time(at),
        **attributes(data_shown="age" if relative else "time"),
    )
