"""Unlock and loss rates of the tracked prompts, with the rates that re-sampling the unchanged base model gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.accuracy_transitions import migration_rates, tracked_matrix
from bapo.analysis.transition_results import MigrationRate, MigrationSummary
from bapo.figures.axes import XAxis, over_training
from bapo.figures.evaluations import MOST_MARKERS
from bapo.figures.lines import interval_band, level_key
from bapo.figures.theme import Palette, translucent
from bapo.records import TrackingRecord


class Unlocks(NamedTuple):
    """Migration against the base model over training."""

    axis: XAxis
    x: Sequence[Any]
    rates: Sequence[MigrationSummary]
    null: MigrationSummary | None
    """Base against base: what chance alone gives. None until it was sampled twice."""


def unlocks_data(records: Sequence[TrackingRecord], axis: XAxis) -> Unlocks:
    """Return every later sampling against the first one of the base model, and its second against its first."""
    base = next((record for record in records if record.step == 0 and record.replicate == 0), None)
    again = next((record for record in records if record.step == 0 and record.replicate == 1), None)
    if base is None:
        return Unlocks(axis, [], [], None)
    later = [record for record in records if record.step > 0 and record.replicate == 0]
    return Unlocks(
        axis,
        [axis.at(record.step) for record in later],
        [migration_rates(tracked_matrix(base, record)) for record in later],
        migration_rates(tracked_matrix(base, again)) if again is not None else None,
    )


def unlocks_figure(data: Unlocks, palette: Palette) -> go.Figure:
    """Draw three rates as lines with their 95 % intervals, each with its null as a dashed level of its colour."""
    lines = (
        ("unlocked", "0/G → above", palette.fresh),
        ("strictly_unlocked", "0/G → at least half", palette.reused),
        ("lost", "above → 0/G", palette.bad),
    )
    figure = over_training([], data.axis, yaxis={"title": {"text": "share of those prompts"}, "tickformat": ".0%"})
    for field, name, colour in lines:
        null: MigrationRate | None = getattr(data.null, field) if data.null is not None else None
        rates: list[MigrationRate | None] = [getattr(each, field) for each in data.rates]
        chance = "" if null is None else f", chance {100 * null.value:.1f} %"
        figure.add_scatter(
            x=data.x,
            y=[None if rate is None else rate.value for rate in rates],
            customdata=[(None, None) if rate is None else (rate.low, rate.high) for rate in rates],
            name=name,
            mode="lines+markers" if len(data.x) <= MOST_MARKERS else "lines",
            line={"color": colour, "width": 2},
            legendgroup=field,
            hovertemplate="%{y:.1%} (%{customdata[0]:.1%} to %{customdata[1]:.1%}" + chance + ")",
        )
        known = [(x, rate) for x, rate in zip(data.x, rates, strict=True) if rate is not None]
        low, high = [rate.low for _, rate in known], [rate.high for _, rate in known]
        band, fill = f"{name}, 95 % interval", translucent(colour, 0.12)
        figure.add_trace(interval_band([x for x, _ in known], low, high, band, fill, legendgroup=field))
        if null is not None:
            level = {"color": colour, "width": 1, "dash": "dash"}
            figure.add_hline(y=null.value, line=level, opacity=0.7)
    if data.null is not None:
        figure.add_trace(level_key("chance: base model sampled twice", palette))
    return figure
