"""Runs as lines over parallel axes: one axis for each field that varies, and the result on the last.

Drawn with SVG: Plotly's own kind of trace for it needs WebGL, and its lines cannot be pressed.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.importance import is_number
from bapo.figures.theme import Palette, blended

MOST_NAMED = 8
"""Values of an axis that are named; of more numbers, only the least and the greatest."""


class ParallelRun(NamedTuple):
    """A run, the values of its fields, and its result."""

    run_id: str
    set: Mapping[str, Any]
    result: float
    result_text: str
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
    texts: Sequence[Sequence[str]]
    """Texts at these heights."""
    runs: Sequence[ParallelRun]


def parallel_coordinates_data(
    fields: Mapping[str, str],
    runs: Sequence[ParallelRun],
    result: str,
    shown: Mapping[str, str] | None = None,
) -> ParallelLines:
    """Place few values at equal distances in their order, and many numbers on a linear scale.

    `fields` gives each field's title, `result` that of the last axis, `shown` a value's text.
    """
    texts = shown or {}
    values = [[run.set.get(field) for run in runs] for field in fields]
    columns = [_column(each, texts) for each in values]
    least, most = (end(runs, key=lambda run: run.result) for end in (min, max))
    low, high = least.result, most.result
    last = [Tick(0.0, least.result_text), Tick(1.0, most.result_text)] if high > low else [Tick(0.5, most.result_text)]
    axes = [Axis(title, ticks) for title, (_, ticks) in zip(fields.values(), columns, strict=True)]
    return ParallelLines(
        [*axes, Axis(result, last)],
        [
            [*(heights[place] for heights, _ in columns), (run.result - low) / (high - low) if high > low else 0.5]
            for place, run in enumerate(runs)
        ],
        [[*(_text(each[place], texts) for each in values), run.result_text] for place, run in enumerate(runs)],
        runs,
    )


def _column(values: Sequence[Any], shown: Mapping[str, str]) -> tuple[list[float], list[Tick]]:
    """Return the height of each run's value, and what is named."""
    keys = [_key(value) for value in values]
    ordered = [key for key, _ in sorted(dict(zip(keys, values, strict=True)).items(), key=_order)]
    numbers = [value for value in values if is_number(value)]
    if len(ordered) > MOST_NAMED and len(numbers) == len(values):
        low, high = min(numbers), max(numbers)
        heights = [(value - low) / (high - low) for value in numbers]
        return heights, [Tick(0.0, _text(low, shown)), Tick(1.0, _text(high, shown))]
    places = {key: 0.5 if len(ordered) == 1 else place / (len(ordered) - 1) for place, key in enumerate(ordered)}
    return [places[key] for key in keys], [Tick(places[key], shown.get(key, key)) for key in ordered]


def _key(value: Any) -> str:
    return "–" if value is None else str(value)


def _text(value: Any, shown: Mapping[str, str]) -> str:
    return shown.get(_key(value), _key(value))


def _order(item: tuple[str, Any]) -> tuple[int, float, str]:
    key, value = item
    return (0, float(value), key) if is_number(value) else (1, 0.0, key)


def parallel_coordinates_figure(data: ParallelLines, palette: Palette) -> go.Figure:
    """Draw a line per run; the higher the result, the stronger its line.

    For the page's script, `meta` of a line names its run and `customdata` what it passes through, `meta` of the figure
    its axes.
    """
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
            customdata=data.texts[place],
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
        meta=[axis.title for axis in data.axes],
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
