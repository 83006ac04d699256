"""A chart of a board: one metric of runs or groups, over a common axis or over another metric."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from bapo.analysis.comparison import shown_name
from bapo.analysis.number_format import counted
from bapo.api.boards import ChartData, ChartPanel
from bapo.api.runs import METRIC_COLUMN
from bapo.figures import formatting
from bapo.figures.looks import LineStyle, styles_of
from bapo.figures.metric_titles import drawn_for, metric_of
from bapo.figures.overlay import band, has_band, intervals, overlaid, overlay_data, overlay_figure
from bapo.figures.theme import Palette

HEIGHT = 300
_LEGEND_CURVES = 12
"""Most curves in the legend; further ones are named on hover."""


def chart_title(panel: ChartPanel) -> str:
    """Return the title that the user gave, else the metric's, and the x-axis if that is a metric too."""
    if panel.title:
        return panel.title
    over = _over(panel)
    return metric_of(panel.y).title + ("" if over is None else f" over {metric_of(over).title}")


def chart_figure(panel: ChartPanel, data: ChartData, palette: Palette) -> go.Figure:
    """Return the curves, with their legend where they are few enough to tell apart."""
    names = {label: shown_name(label) for label in dict.fromkeys(curve.label for curve in data.curves)}
    looks = styles_of(list(names.values()), palette)
    styles = {label: looks[name] for label, name in names.items()}
    figure = (
        _lines(panel, data, names, styles)
        if _over(panel) is not None
        else _overlay(panel, data, names, styles, palette)
    )
    has_legend = 1 < len(names) <= _LEGEND_CURVES
    figure.update_layout(
        height=HEIGHT,
        showlegend=has_legend,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"t": 40 if has_legend else 16},
        # A zoom holds while the chart asks for the same.
        uirevision=f"{panel.x} {panel.y} {panel.log_x} {panel.log_y}",
    )
    if panel.log_x:
        figure.update_xaxes(type="log", rangemode="normal", tickformat=None)
    if panel.log_y:
        figure.update_yaxes(type="log", range=None)
    return figure


def _over(panel: ChartPanel) -> str | None:
    return panel.x.removeprefix(METRIC_COLUMN) if panel.x.startswith(METRIC_COLUMN) else None


def _overlay(
    panel: ChartPanel, data: ChartData, names: Mapping[str, str], styles: Mapping[str, LineStyle], palette: Palette
) -> go.Figure:
    metric = drawn_for(metric_of(panel.y), (value for curve in data.curves for value in curve.mean))
    axis: Any = panel.x
    overlay = overlay_data(data.curves, axis, styles, names=names, unit=metric.unit, is_share=metric.is_share)
    figure = overlay_figure(overlay, palette)
    seen: set[str] = set()
    for trace in figure.data:
        # The legend shows only a group's line; bands lie below it and come first.
        is_entry = trace.hoverinfo != "skip" and trace.legendgroup not in seen
        trace.showlegend = is_entry
        if is_entry:
            seen.add(trace.legendgroup)
    return figure


def _lines(panel: ChartPanel, data: ChartData, names: Mapping[str, str], styles: Mapping[str, LineStyle]) -> go.Figure:
    """Return the mean of a group over its interval, and the way of a run alone, in the order of its steps."""
    over = drawn_for(metric_of(_over(panel) or ""), (value for curve in data.curves for value in curve.x))
    metric = drawn_for(metric_of(panel.y), (value for curve in data.curves for value in curve.mean))
    form = {True: ".1%", False: ".4~g"}
    seen: set[str] = set()
    curves = [overlaid(curve, names[curve.label], styles[curve.label]) for curve in data.curves]
    # Bands lie below all lines.
    traces: list[dict[str, Any]] = [
        bound | {"showlegend": False} for curve in curves if has_band(curve) for bound in band(curve)
    ]
    for curve in curves:
        name, style = html.escape(curve.name), curve.style
        interval = "%{customdata}" if has_band(curve) else ""
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if len(curve.x) <= 30 else "lines",
                "x": curve.x,
                "y": curve.mean,
                "name": name,
                "legendgroup": curve.label,
                "showlegend": curve.label not in seen,
                "line": {"color": style.colour, "dash": style.dash, "width": 1.6},
                "marker": {"size": 4, "symbol": style.symbol},
                "customdata": intervals(curve, is_share=metric.is_share) if interval else None,
                "hovertemplate": f"%{{x:{form[over.is_share]}}}<br>%{{y:{form[metric.is_share]}}}{interval}"
                f"<extra>{name}</extra>",
            }
        )
        seen.add(curve.label)
    return go.Figure(
        {
            "data": traces,
            "layout": {
                "xaxis": {"title": {"text": over.unit}, **({"tickformat": ".0%"} if over.is_share else {})},
                "yaxis": {"title": {"text": metric.unit}, **({"tickformat": ".0%"} if metric.is_share else {})},
                "hovermode": "closest",
            },
        }
    )


def chart_note(panel: ChartPanel, data: ChartData) -> str:
    """Return how the curves were made, and what of the runs is not there."""
    if not data.curves:
        return ""
    parts = []
    if data.num_shown < data.num_matching:
        parts.append(f"the newest {data.num_shown} of {data.num_matching:,} runs")
    else:
        parts.append(counted(data.num_shown, "run"))
    sizes = sorted({max(curve.n) for curve in data.curves if curve.n})
    if _over(panel) is not None and sizes:
        parts.append("groups by stretches of the other metric with equally many values")
    if any(size > 2 for size in sizes):
        most = [size for size in sizes if size > 2]
        counts = f"{most[0]}" if len(most) == 1 else f"{most[0]}–{most[-1]}"
        parts.append(f"mean and 95 % interval over {counts} replicates (Student's t)")
    if 2 in sizes:
        parts.append("mean and range of two replicates, whose 95 % interval would be 12.7 times as wide")
    if 1 in sizes:
        parts.append("runs of one seed are one replicate, without an interval")
    if panel.smooth > 1:
        parts.append(f"means of the last {panel.smooth} recorded values")
    shown, whole = sum(len(each.x) for each in data.curves), sum(each.num_positions for each in data.curves)
    if shown < whole:
        parts.append(f"{formatting.count(shown)} of {formatting.count(whole)} points, extremes kept")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}.{' ' if data.note else ''}{data.note}"
