"""Runs as lines over parallel axes: one axis for each field that varies, and the result on the last.

Drawn with SVG: Plotly's own kind of trace for it needs WebGL, and its lines cannot be pressed.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.figures.theme import Palette, blended

MOST_NAMED = 8
"""Values of an axis that are named; of more numbers, only the least and the greatest."""


class ParallelRun(NamedTuple):
    """A run, the values of its fields, and its result."""

    run_id: str
    set: Mapping[str, Any]
    result: float
    text: str
    """For the hover."""


class Tick(NamedTuple):
    """A named value of an axis."""

    height: float
    text: str


class Axis(NamedTuple):
    """A field with the values that are named, from the lowest to the highest place."""

    title: str
    ticks: Sequence[Tick]


class ParallelLines(NamedTuple):
    """Axes from left to right, the last of which is the result; a line has a height from 0 to 1 on each."""

    axes: Sequence[Axis]
    heights: Sequence[Sequence[float]]
    runs: Sequence[ParallelRun]


def parallel_coordinates_data(
    fields: Mapping[str, str],
    runs: Sequence[ParallelRun],
    result: str,
    ends: tuple[str, str],
    shown: Mapping[str, str] | None = None,
) -> ParallelLines:
    """Few values stand at equal distances in their order, many numbers where they are.

    `fields` gives each field's title, `result` that of the last axis, `ends` the texts of the lowest and the highest
    result, `shown` a value's text.
    """
    columns = [_column([run.set.get(field) for run in runs], shown or {}) for field in fields]
    results = [run.result for run in runs]
    low, high = min(results, default=0.0), max(results, default=1.0)
    last = [Tick(0.0, ends[0]), Tick(1.0, ends[1])] if high > low else [Tick(0.5, ends[1])]
    axes = [Axis(title, ticks) for title, (_, ticks) in zip(fields.values(), columns, strict=True)]
    return ParallelLines(
        [*axes, Axis(result, last)],
        [
            [*(heights[place] for heights, _ in columns), (run.result - low) / (high - low) if high > low else 0.5]
            for place, run in enumerate(runs)
        ],
        runs,
    )


def _column(values: Sequence[Any], shown: Mapping[str, str]) -> tuple[list[float], list[Tick]]:
    """The height of each run's value, and what is named."""
    keys = [_key(value) for value in values]
    ordered = [key for key, _ in sorted(dict(zip(keys, values, strict=True)).items(), key=_order)]
    numbers = [value for value in values if _is_number(value)]
    if len(ordered) > MOST_NAMED and len(numbers) == len(values):
        low, high = min(numbers), max(numbers)
        heights = [(value - low) / (high - low) for value in numbers]
        return heights, [Tick(0.0, shown.get(_key(low), _key(low))), Tick(1.0, shown.get(_key(high), _key(high)))]
    places = {key: 0.5 if len(ordered) == 1 else place / (len(ordered) - 1) for place, key in enumerate(ordered)}
    return [places[key] for key in keys], [Tick(places[key], shown.get(key, key)) for key in ordered]


def _key(value: Any) -> str:
    return "–" if value is None else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _order(item: tuple[str, Any]) -> tuple[int, float, str]:
    key, value = item
    return (0, float(value), key) if _is_number(value) else (1, 0.0, key)


def parallel_coordinates_figure(data: ParallelLines, palette: Palette) -> go.Figure:
    """The higher the result, the stronger its line; `meta` of a line names its run, for the page's script."""
    columns = list(range(len(data.axes)))
    figure = go.Figure()
    for place in sorted(range(len(data.runs)), key=lambda index: data.runs[index].result):
        strength = data.heights[place][-1]
        colour = blended(palette.reevaluated, palette.fresh, strength)
        figure.add_scatter(
            x=columns,
            y=data.heights[place],
            mode="lines+markers",
            line={"color": colour, "width": 1.25 + 1.25 * strength},
            marker={"size": 7, "color": colour},
            opacity=0.85,
            hovertext=html.escape(data.runs[place].text),
            hoverinfo="text",
            meta=data.runs[place].run_id,
            showlegend=False,
        )
    for column, axis in enumerate(data.axes):
        figure.add_shape(
            type="line", x0=column, x1=column, y0=0, y1=1, line={"color": palette.reference, "width": 1}, layer="below"
        )
        is_last = column == len(data.axes) - 1
        for tick in axis.ticks:
            figure.add_annotation(
                x=column,
                y=tick.height,
                text=html.escape(tick.text),
                showarrow=False,
                xanchor="right" if is_last else "left",
                xshift=-8 if is_last else 8,
                yshift=9,
                font={"size": 11},
            )
    return figure.update_layout(
        xaxis={
            "tickvals": columns,
            "ticktext": [html.escape(axis.title) for axis in data.axes],
            "range": [-0.15, len(data.axes) - 0.85],
            "showgrid": False,
            "zeroline": False,
            "side": "top",
            "fixedrange": True,
        },
        yaxis={"visible": False, "range": [-0.06, 1.12], "fixedrange": True},
        dragmode="select",
        hovermode="closest",
        margin={"l": 24, "r": 24, "t": 36, "b": 12},
    )
