"""Results of settings against the fields that vary: one line per setting over parallel axes."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.figures.theme import Palette

OUTCOME = "result"


class SettingOutcome(NamedTuple):
    """The fields of a setting, and the mean of its results."""

    set: Mapping[str, Any]
    outcome: float
    """A share."""
    text: str
    """For the hover."""


class Axis(NamedTuple):
    """A field with its values, from the lowest to the highest place."""

    title: str
    values: Sequence[str]


class ParallelLines(NamedTuple):
    """Axes from left to right, the last of which is the outcome; a line has a height from 0 to 1 on each."""

    axes: Sequence[Axis]
    heights: Sequence[Sequence[float]]
    outcomes: Sequence[float]
    texts: Sequence[str]


def parallel_lines(
    fields: Mapping[str, str], settings: Sequence[SettingOutcome], shown: Mapping[str, str] | None = None
) -> ParallelLines:
    """Values at equal distances in their order; `fields` gives each field's title, `shown` a value's text."""
    names = shown or {}
    places: dict[str, list[Any]] = {
        field: sorted(
            {_key(setting.set.get(field)): setting.set.get(field) for setting in settings}.items(), key=_order
        )
        for field in fields
    }
    low = min((setting.outcome for setting in settings), default=0.0)
    high = max((setting.outcome for setting in settings), default=1.0)
    axes = [Axis(title, [names.get(key, key) for key, _ in places[field]]) for field, title in fields.items()]
    axes.append(Axis(OUTCOME, [f"{low:.1%}", f"{high:.1%}"] if high > low else [f"{high:.1%}"]))
    heights = []
    for setting in settings:
        line = []
        for field in fields:
            keys = [key for key, _ in places[field]]
            line.append(_height(keys.index(_key(setting.set.get(field))), len(keys)))
        heights.append([*line, (setting.outcome - low) / (high - low) if high > low else 0.5])
    return ParallelLines(
        axes, heights, [setting.outcome for setting in settings], [setting.text for setting in settings]
    )


def _key(value: Any) -> str:
    return "–" if value is None else str(value)


def _order(item: tuple[str, Any]) -> tuple[int, float, str]:
    key, value = item
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, float(value), key) if is_number else (1, 0.0, key)


def _height(index: int, number: int) -> float:
    return 0.5 if number == 1 else index / (number - 1)


def parallel_lines_figure(data: ParallelLines, palette: Palette) -> go.Figure:
    """The better the outcome, the stronger its line."""
    low, high = min(data.outcomes, default=0.0), max(data.outcomes, default=1.0)
    columns = list(range(len(data.axes)))
    figure = go.Figure()
    order = sorted(range(len(data.heights)), key=lambda index: data.outcomes[index])
    for index in order:
        strength = (data.outcomes[index] - low) / (high - low) if high > low else 1.0
        figure.add_scatter(
            x=columns,
            y=data.heights[index],
            mode="lines+markers",
            line={"color": palette.fresh, "width": 1 + 2 * strength},
            marker={"size": 6, "color": palette.fresh},
            opacity=0.25 + 0.75 * strength,
            hovertext=html.escape(data.texts[index]),
            hoverinfo="text",
            showlegend=False,
        )
    for column, axis in enumerate(data.axes):
        figure.add_shape(
            type="line", x0=column, x1=column, y0=0, y1=1, line={"color": palette.reference, "width": 1}, layer="below"
        )
        for index, value in enumerate(axis.values):
            figure.add_annotation(
                x=column,
                y=_height(index, len(axis.values)),
                text=html.escape(value),
                showarrow=False,
                xanchor="left" if column < len(data.axes) - 1 else "right",
                xshift=8 if column < len(data.axes) - 1 else -8,
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
        hovermode="closest",
        margin={"l": 24, "r": 24, "t": 36, "b": 12},
    )
