"""Numbers, shares, durations and times as people read them, the same everywhere."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bapo.analysis.number_format import MISSING, THIN_SPACE, are_shares, counted, percent, share

__all__ = ["MISSING", "THIN_SPACE", "percent", "share"]


def count(value: float | None) -> str:
    """Format a count: 8 192 → "8,192"; 12 345 → "12.3k"; 1 234 567 → "1.23M"."""
    if value is None:
        return MISSING
    if abs(value) < 9_999.5:
        return f"{value:,.0f}"
    for limit, divisor, unit, digits in ((99_950, 1e3, "k", 1), (999_500, 1e3, "k", 0), (9.995e6, 1e6, "M", 2)):
        if abs(value) < limit:
            return f"{value / divisor:.{digits}f}{unit}"
    return f"{value / 1e6:.1f}M" if abs(value) < 9.9995e8 else f"{value / 1e9:.2f}G"


def size(num_bytes: float | None) -> str:
    """Format a size: 1 536 000 → "1.5 MB"; thousands, as disks are sold."""
    if num_bytes is None:
        return MISSING
    for limit, divisor, unit, digits in (
        (999.5, 1, "B", 0),
        (999.5e3, 1e3, "kB", 0),
        (99.95e6, 1e6, "MB", 1),
        (999.5e6, 1e6, "MB", 0),
        (99.95e9, 1e9, "GB", 1),
    ):
        if num_bytes < limit:
            return f"{num_bytes / divisor:.{digits}f}{THIN_SPACE}{unit}"
    return f"{num_bytes / 1e9:,.0f}{THIN_SPACE}GB"


def points(change: float | None, digits: int = 1) -> str:
    """Return a difference of two shares in percentage points, signed: 0.0823 → "+8.2 pts"."""
    return MISSING if change is None else f"{_signed(100 * change, digits)}{THIN_SPACE}pts"


def decimal(value: float | None, digits: int = 3) -> str:
    """Return a plain number: fixed digits, scientific where they would not show it."""
    if value is None:
        return MISSING
    if value and abs(value) < 0.5 * 10**-digits:
        return f"{value:.1e}"
    return f"{value:.{digits}f}"


def reward(value: float | None) -> str:
    """Return a mean reward: a share where it can be one of right responses, a plain number beyond 0 to 1."""
    return percent(value) if are_shares([value]) else decimal(value)


def signed_decimal(change: float | None, digits: int = 3) -> str:
    """Return a signed difference, with a true minus sign."""
    return MISSING if change is None else _signed(change, digits)


def _signed(value: float, digits: int) -> str:
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return f"±{text}"
    return f"{'+' if value > 0 else '−'}{text}"


def duration(seconds: float | None) -> str:
    """Return two units: "42 s", "3 m 05 s", "1 h 22 m", "2 d 04 h"."""
    if seconds is None:
        return MISSING
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} m"
    return f"{whole // 86_400} d {whole % 86_400 // 3600:02d} h"


def hours(value: float | None) -> str:
    """Format hours of compute: 0.003 → "0.003", 0.4182 → "0.42", 12.34 → "12.3", 1 234.5 → "1,234"."""
    if value is None:
        return MISSING
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.{1 if value >= 9.995 else 2 if value >= 0.095 else 3}f}"


def money(value: float | None, currency: str) -> str:
    """Format an amount: 12.5 → "12.50 USD"; cents are shown below a thousand."""
    if value is None:
        return MISSING
    return f"{value:,.{2 if value < 999.995 else 0}f}{THIN_SPACE}{currency}"


def ago(moment: datetime | None, now: datetime) -> str:
    """Return a text such as "3 minutes ago"; the exact time belongs into the tooltip (`exact_time`)."""
    if moment is None:
        return MISSING
    length = _length((now - moment).total_seconds())
    return f"{length} ago" if length else "just now"


def until(moment: datetime, now: datetime) -> str:
    """Return a text such as "in 3 minutes", for a future moment; "now" once it is due."""
    length = _length((moment - now).total_seconds())
    return f"in {length}" if length else "now"


def _length(seconds: float) -> str:
    """Return whole days, hours, minutes or seconds; empty below ten seconds."""
    if seconds < 10:
        return ""
    size, unit = next(
        each for each in ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")) if seconds >= each[0]
    )
    return counted(int(seconds // size), unit)


def exact_time(moment: datetime | None) -> str:
    """Format date and time to the second, in UTC."""
    return MISSING if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def config_value(value: Any) -> str:
    """Return a config value as one writes it in a form: `1/8`, `0.25`, `auto`; empty for none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        parts = [f"[{config_value(part)}]" if isinstance(part, list | tuple) else config_value(part) for part in value]
        return ", ".join(parts)
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value)
