"""Test accuracy on the held-out sets, with confidence intervals and the base model as reference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.lines import column, interval_band, level_key
from bapo.figures.theme import Palette, translucent

KEY_PATTERN = re.compile(
    r"val-core/(?P<dataset>.+)/acc/(?P<figure>mean@\d+|mean@\d+/low|mean@\d+/high|greedy|pass@\d+)"
)
"""Metric names of an evaluation."""


MOST_MARKERS = 50
"""Evaluations up to which each is marked."""


class DatasetCurve(NamedTuple):
    """One held-out set over training."""

    dataset: str
    num_samples: int
    """k of avg@k."""
    x: Sequence[Any]
    mean: Sequence[float]
    """avg@k."""
    low: Sequence[float]
    high: Sequence[float]
    pass_at_k: Sequence[float | None]


class Evaluations(NamedTuple):
    """Evaluations of a run on all held-out sets."""

    axis: XAxis
    curves: Sequence[DatasetCurve]
    has_base: bool = True
    """True if the first evaluation is that of the base model, before training."""


def evaluations_data(series: Series, axis: XAxis) -> Evaluations:
    """Collect the sets from the metric names; `series` holds the steps with an evaluation, step 0 included."""
    curves = []
    names = {key: match for key in sorted(series.columns) if (match := KEY_PATTERN.fullmatch(key))}
    for key, match in names.items():
        figure = match["figure"]
        if not figure.startswith("mean@") or "/" in figure:
            continue
        num_samples = int(figure.removeprefix("mean@"))
        prefix = key.removesuffix(figure)
        rows = [
            (axis.at(step), value, low, high, best)
            for step, value, low, high, best in zip(
                series.steps,
                series.columns[key],
                column(series, f"{key}/low"),
                column(series, f"{key}/high"),
                column(series, f"{prefix}pass@{num_samples}"),
                strict=True,
            )
            if value is not None
        ]
        if rows:
            x, mean, low, high, best = (list(column) for column in zip(*rows, strict=True))
            low = [value if bound is None else bound for value, bound in zip(mean, low, strict=True)]
            high = [value if bound is None else bound for value, bound in zip(mean, high, strict=True)]
            curves.append(DatasetCurve(match["dataset"], num_samples, x, mean, low, high, best))
    # The widest set first: CD-34 before CD-4.
    curves.sort(key=lambda curve: (-len(curve.dataset), curve.dataset))
    return Evaluations(axis, curves, not series.steps or series.steps[0] == 0)


def evaluations_figure(data: Evaluations, palette: Palette) -> go.Figure:
    """Draw avg@k per set with its 95 % interval, pass@k dotted, the base model's avg@k as a dashed level."""
    figure = over_training([], data.axis, yaxis={"title": {"text": "accuracy"}, "tickformat": ".0%"})
    for index, curve in enumerate(data.curves):
        colour = palette.series[index % len(palette.series)]
        name, fill = f"{curve.dataset} 95 % interval", translucent(colour, 0.15)
        figure.add_trace(interval_band(curve.x, curve.low, curve.high, name, fill, legendgroup=curve.dataset))
        figure.add_scatter(
            x=curve.x,
            y=curve.mean,
            customdata=list(zip(curve.low, curve.high, strict=True)),
            name=f"{curve.dataset} avg@{curve.num_samples}",
            mode="lines+markers" if len(curve.x) <= MOST_MARKERS else "lines",
            line={"color": colour, "width": 2},
            marker={"size": 6},
            cliponaxis=False,
            legendgroup=curve.dataset,
            hovertemplate="%{y:.1%} (%{customdata[0]:.1%} to %{customdata[1]:.1%})",
        )
        if any(value is not None for value in curve.pass_at_k):
            figure.add_scatter(
                x=curve.x,
                y=curve.pass_at_k,
                name=f"{curve.dataset} pass@{curve.num_samples}",
                mode="lines",
                line={"color": translucent(colour, 0.7), "width": 1.2, "dash": "dot"},
                hovertemplate="%{y:.1%}",
                showlegend=False,
            )
        figure.add_hline(y=curve.mean[0], line={"color": translucent(colour, 0.5), "width": 1, "dash": "dash"})
    if data.curves:
        figure.add_trace(level_key("base model" if data.has_base else "first evaluation", palette))
    return figure
