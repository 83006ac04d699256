"""Batch composition as it was recorded, and as it would have been under other settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.analysis.what_if.answer import Band, WhatIfAnswer
from bapo.figures.looks import drawn_sources
from bapo.figures.theme import Palette, translucent

RECORDED, FORECAST = "recorded", "would have been"


class Layer(NamedTuple):
    """One source in the forecast: counts that rest on recorded answers, and those that rest on estimates."""

    exact: Sequence[float]
    estimated: Sequence[float]


class WhatIfComposition(NamedTuple):
    """Groups per step, by source."""

    steps: Sequence[int]
    recorded: Sequence[Sequence[int]]
    """X1, X2, X3; X1 alone of another trainer's run."""
    x1: Layer
    x2: Layer
    x3: Layer
    batch_size_recorded: int
    batch_size: int


def what_if_composition_data(answer: WhatIfAnswer) -> WhatIfComposition:
    """Separate exact from estimated values."""
    recorded, forecast = answer.recorded, answer.forecast
    return WhatIfComposition(
        answer.steps,
        (recorded.x1,) if answer.totals.x2_share.recorded is None else (recorded.x1, recorded.x2, recorded.x3),
        _layer(forecast.x1),
        _layer(forecast.x2),
        _layer(forecast.x3),
        answer.batch_size_recorded,
        answer.batch_size,
    )


def _layer(band: Band) -> Layer:
    return Layer(
        [mean if exact else 0 for mean, exact in zip(band.mean, band.is_exact, strict=True)],
        [0 if exact else mean for mean, exact in zip(band.mean, band.is_exact, strict=True)],
    )


def what_if_composition_figure(data: WhatIfComposition, palette: Palette) -> go.Figure:
    """Return two panels over the same steps and to the same scale: as recorded, and as forecast, with estimates
    hatched."""
    names = [(source.name, source.colour) for source in drawn_sources(palette)]
    traces = [_area(data.steps, counts, *named, panel=1) for counts, named in zip(data.recorded, names, strict=False)]
    for place, ((name, colour), layer) in enumerate(zip(names, (data.x1, data.x2, data.x3), strict=True)):
        is_named = place >= len(data.recorded) and any(layer.exact)
        traces += [
            _area(data.steps, layer.exact, name, colour, panel=2, is_named=is_named),
            _area(data.steps, layer.estimated, f"{name}, estimate", colour, panel=2, is_estimated=True),
        ]
    ends = [data.steps[0], data.steps[-1]] if data.steps else []
    traces += [
        go.Scatter(
            x=ends,
            y=[size] * len(ends),
            name=f"B = {size:,}",
            mode="lines",
            line={"color": palette.reference, "dash": "dash", "width": 1.5},
            hoverinfo="skip",
            showlegend=False,
            yaxis=axis,
        )
        for size, axis in ((data.batch_size_recorded, "y"), (data.batch_size, "y2"))
    ]
    largest = 1.12 * max(data.batch_size_recorded, data.batch_size)
    panel = {"range": [0, largest], "title": {"text": "groups"}, "fixedrange": True}
    return go.Figure(
        traces,
        {
            "height": 420,
            "hovermode": "x unified",
            "hoversubplots": "axis",
            "xaxis": {"title": {"text": "step"}, "tickformat": ",d", "anchor": "y2", "rangemode": "tozero"},
            "yaxis": panel | {"domain": [0.55, 0.97]},
            "yaxis2": panel | {"domain": [0, 0.42], "anchor": "x"},
            "annotations": [
                _title(RECORDED, data.batch_size_recorded, palette, y=1.0),
                _title(FORECAST, data.batch_size, palette, y=0.45),
            ],
            "margin": {"t": 26},
            "legend": {"y": -0.13, "yanchor": "top"},
            "uirevision": "what-if",
        },
    )


def _title(text: str, batch_size: int, palette: Palette, *, y: float) -> dict[str, object]:
    return {
        "text": f"<b>{text}</b>  B = {batch_size:,}",
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": y,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"color": palette.muted, "size": 12},
    }


def _area(
    steps: Sequence[int],
    counts: Sequence[float],
    name: str,
    colour: str,
    *,
    panel: int,
    is_estimated: bool = False,
    is_named: bool = False,
) -> go.Scatter:
    """Draw an area; the lower panel adds legend entries only for estimated values, or those missing above."""
    pattern = {"shape": "/", "fgcolor": colour, "bgcolor": translucent(colour, 0.2), "size": 5, "solidity": 0.35}
    return go.Scatter(
        x=steps,
        y=counts,
        name=name,
        stackgroup=str(panel),
        mode="lines",
        line={"width": 0, "color": colour, "shape": "hvh"},
        fillcolor=translucent(colour, 0.3 if is_estimated else 0.85),
        fillpattern=pattern if is_estimated else None,
        hovertemplate="%{y:.1f} groups" if is_estimated else "%{y:,.4~r} groups",
        legendgroup=f"{name}",
        showlegend=is_named or (is_estimated and any(counts)) if panel == 2 else True,
        yaxis="y2" if panel == 2 else "y",
    )
