"""Figures of findings as text, for pages and the terminal."""

from __future__ import annotations

from collections.abc import Callable

from bapo.analysis.findings.finding import Evidence
from bapo.analysis.number_format import THIN_SPACE, percent


def figure_text(figure: Evidence, value: float, duration: Callable[[float], str], *, space: str = THIN_SPACE) -> str:
    """Format a value in this figure's unit; `duration` words seconds, `space` goes before a percent sign."""
    match figure.unit:
        case "share":
            return percent(value, space=space)
        case "seconds":
            return duration(value)
        case "nats":
            return f"{value:.3f} nats"
        case "count":
            return f"{value:,.0f}"
        case _:
            return f"{value:.2f}"
