"""The page of small multiples: each benchmark's figure over time, from docs/benchmarks/history.json."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

HISTORY = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "history.json"
INTRODUCTION = """# Benchmarks over time

Each point is one measurement, oldest first; hover for its date, commit and value. A dashed line is the goal. Compare
points of one machine only: filled points are from an Intel Xeon, hollow ones from an AMD EPYC. Figures with a single
measurement are in [the tables](../benchmarks.md) only.
"""
WIDTH, HEIGHT, MARGIN = 300, 96, 8


class Measurement(BaseModel):
    """A value of a figure."""

    model_config = ConfigDict(extra="forbid")

    date: str
    commit: str | None
    """Abbreviated commit of the report; `None` if unknown."""
    machine: str
    value: Annotated[float, Field(ge=0)]


class Figure(BaseModel):
    """A figure of a benchmark and its measurements, oldest first."""

    model_config = ConfigDict(extra="forbid")

    area: Literal["Training", "Server", "Dashboard"]
    name: str
    benchmark: str
    unit: str
    goal: float | None
    is_better_higher: bool
    entries: Annotated[list[Measurement], Field(min_length=1)]


class _Point(NamedTuple):
    x: float
    y: float


def figures() -> list[Figure]:
    """Read the history."""
    return [Figure.model_validate(each) for each in json.loads(HISTORY.read_text("utf-8"))["figures"]]


def page() -> str:
    """Return the whole page."""
    return "\n".join(_parts(figures()))


def _parts(found: list[Figure]) -> Iterator[str]:
    yield INTRODUCTION
    repeated = [figure for figure in found if len(figure.entries) > 1]
    for area in dict.fromkeys(figure.area for figure in repeated):
        yield f"## {area}\n"
        yield '<div class="small-multiples">'
        yield from (drawn(figure) for figure in repeated if figure.area == area)
        yield "</div>\n"


def drawn(figure: Figure) -> str:
    """Draw the figure as SVG, from 0 to its largest value or goal."""
    top = max(figure.goal or 0.0, *(each.value for each in figure.entries)) or 1.0
    step = (WIDTH - 2 * MARGIN) / max(len(figure.entries) - 1, 1)
    points = [_Point(MARGIN + index * step, _height(each.value, top)) for index, each in enumerate(figure.entries)]
    marks = "".join(_mark(point, each, figure.unit) for point, each in zip(points, figure.entries, strict=True))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    goal = "" if figure.goal is None else _goal_line(_height(figure.goal, top))
    better = "higher is better" if figure.is_better_higher else "lower is better"
    wanted = "" if figure.goal is None else f", goal {figure.goal:g} {figure.unit}"
    newest = f"{figure.entries[-1].value:g} {figure.unit}"
    return (
        f"<figure><figcaption><strong>{html.escape(figure.name)}</strong><br>{newest}; {better}{wanted}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(figure.name)}">{goal}'
        f'<polyline points="{line}"/>{marks}</svg></figure>'
    )


def _height(value: float, top: float) -> float:
    return HEIGHT - MARGIN - value / top * (HEIGHT - 2 * MARGIN)


def _goal_line(y: float) -> str:
    return f'<line x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _mark(point: _Point, each: Measurement, unit: str) -> str:
    origin = ", ".join(part for part in (each.date.replace("T", " "), each.commit, each.machine) if part)
    kind = "hollow" if "EPYC" in each.machine else "filled"
    title = html.escape(f"{each.value:g} {unit}: {origin}")
    return f'<circle class="{kind}" cx="{point.x:.1f}" cy="{point.y:.1f}" r="3.5"><title>{title}</title></circle>'
