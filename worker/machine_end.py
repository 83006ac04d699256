"""When a machine ends: a time, or a duration from now, as people and batch systems write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_EARLIEST_UNIX_TIME = 1_000_000_000
"""A moment in 2001; smaller numbers are probably meant as seconds or minutes from now."""


def machine_end(given: Any) -> Any:
    """Return the moment that a text names: ISO 8601, seconds since 1970, or a duration such as `1d12h`, `90m` or `45s`.

    A time without a zone is local. Raises ValueError for any other text, and for a moment in the past.
    """
    if not isinstance(given, str):
        return given
    text, now = given.strip(), datetime.now(UTC)
    end = _moment(text, now)
    if end is None:
        raise ValueError(
            "give a time such as 2026-11-23T18:00:00+01:00, seconds since 1970 such as $SLURM_JOB_END_TIME, or a "
            "duration such as 11h30m"
        )
    if end <= now:
        raise ValueError(f"that was at {end:%Y-%m-%d %H:%M:%S} UTC: give a moment to come")
    return end


def _moment(text: str, now: datetime) -> datetime | None:
    try:
        if text.isascii() and text.isdecimal():
            return datetime.fromtimestamp(int(text), UTC) if int(text) >= _EARLIEST_UNIX_TIME else None
        duration = _DURATION.fullmatch(text)
        if text and duration is not None:
            days, hours, minutes, seconds = (int(part or 0) for part in duration.groups())
            return now + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


MachineEnd = Annotated[datetime, BeforeValidator(machine_end)]
