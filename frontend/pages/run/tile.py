"""A figure at a glance: value, change, and a sparkline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from bapo.figures.theme import Palette, translucent

SPARKLINE_WIDTH, SPARKLINE_HEIGHT = 120, 28


Trend = Literal["good", "bad", "neutral"]


class Tile(NamedTuple):
    """The content of a tile; texts are formatted already."""

    name: str
    label: str
    value: str
    note: str
    """Interval, null, or what it is measured against, in small type."""
    change: str | None
    trend: Trend
    explanation: str
    sparkline: Sequence[float | None]
    colour: str


def tile_json(content: Tile, palette: Palette) -> dict[str, Any]:
    """Return what the browser draws a tile from (assets/live_head.js)."""
    return {
        **content._asdict(),
        "sparkline": sparkline_uri(content.sparkline, content.colour or palette.accent),
    }


def sparkline_uri(values: Sequence[float | None], colour: str) -> str:
    """Return a small line over its area as an SVG image; an empty one with fewer than two values."""
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return "data:image/svg+xml," + quote(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SPARKLINE_WIDTH} {SPARKLINE_HEIGHT}"/>'
        )
    low, high = min(value for _, value in known), max(value for _, value in known)
    span = high - low or 1.0
    first, last = known[0][0], known[-1][0]
    points = [
        (
            SPARKLINE_WIDTH * (index - first) / (last - first),
            2 + (SPARKLINE_HEIGHT - 4) * (1 - (value - low) / span if high > low else 0.5),
        )
        for index, value in known
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    area = f"0,{SPARKLINE_HEIGHT} {line} {SPARKLINE_WIDTH},{SPARKLINE_HEIGHT}"
    return "data:image/svg+xml," + quote(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SPARKLINE_WIDTH} {SPARKLINE_HEIGHT}" '
        f'preserveAspectRatio="none"><polygon points="{area}" fill="{translucent(colour, 0.12)}"/>'
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5" '
        'vector-effect="non-scaling-stroke"/></svg>'
    )
