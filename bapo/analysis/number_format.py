"""Shares and counts as people read them, for pages, the terminal and reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from bapo.analysis.result import MeanEstimate

MISSING = "–"
"""Shown where there is no value (yet)."""

THIN_SPACE = "\u202f"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number of things: 1 → "1 run", 1200 → "1,200 runs"; `plural` where an s does not make it."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def share(value: float | None, digits: int = 1) -> str:
    """Return the number of `percent` without its sign, for tables and ranges: 0.4123 → "41.2"."""
    return MISSING if value is None else f"{100 * value:.{digits}f}"


def percent(value: float | None, digits: int = 1, *, space: str = THIN_SPACE) -> str:
    """Format a share: 0.4123 → "41.2 %", with a space that does not break."""
    return MISSING if value is None else f"{share(value, digits)}{space}%"


def are_shares(values: Iterable[float | None]) -> bool:
    """Return whether all known values lie between 0 and 1: another trainer's mean reward need be no share."""
    return all(0 <= value <= 1 for value in values if value is not None and not math.isnan(value))


def bounds_text(low: float | None, high: float | None, text: Callable[[float], str], between: str = " to ") -> str:
    """Return the bounds of an interval, as "38.0 to 44.4"; empty where there is none, or where both read the same."""
    if low is None or high is None or text(low) == text(high):
        return ""
    return f"{text(low)}{between}{text(high)}"


def within_share(value: float) -> str:
    """Return a bound of a share for ranges: Student's interval knows no bounds, but a share has two, 0 and 1."""
    return share(min(1.0, max(0.0, value)))


def share_interval(estimate: MeanEstimate) -> str:
    """Return the interval of a share, as " [39.0, 43.6]"; empty where there is none."""
    bounds = bounds_text(estimate.low, estimate.high, within_share, ", ")
    return f" [{bounds}]" if bounds else ""


def points_text(difference: MeanEstimate) -> str:
    """Return a difference of shares in percentage points: "+2.3 points [+0.5, +4.1]"."""
    bounds = bounds_text(difference.low, difference.high, lambda value: f"{100 * value:+.1f}", ", ")
    return f"{100 * difference.value:+.1f} points" + (f" [{bounds}]" if bounds else "")
