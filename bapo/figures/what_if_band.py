"""One figure of every step as it was recorded, and as it would have been, with the interval where it is estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.what_if.answer import Band, WhatIfAnswer
from bapo.figures.smoothing import moving_mean
from bapo.figures.theme import Palette, translucent

Quantity = Literal["fill_rate", "gradient_share", "difficult_size", "high_quality_size", "rollouts", "reevaluated"]
Kind = Literal["share", "count"]
ESTIMATE = "estimate, 90 % interval"


class WhatIfBand(NamedTuple):
    """A quantity by step."""

    steps: Sequence[int]
    recorded: Sequence[float | None]
    exact: Sequence[float | None]
    """Forecast where it rests on recorded answers alone; None elsewhere, but for the steps where both meet."""
    mean: Sequence[float | None]
    """Forecast where it is estimated."""
    low: Sequence[float | None]
    high: Sequence[float | None]


def what_if_band_data(answer: WhatIfAnswer, quantity: Quantity, *, window: int = 1) -> WhatIfBand:
    """Read a quantity off the answer; over a window of steps where single ones say little.

    Mean, low and high are averaged over the window: draws err together, so that their interval does not shrink.
    """
    recorded: list[float | None] = list(getattr(answer.recorded, quantity))
    if quantity == "reevaluated" and answer.totals.reevaluated.recorded is None:
        recorded = [None] * len(recorded)
    band: Band = getattr(answer.forecast, quantity)
    mean, low, high = (moving_mean(list(column), window) for column in (band.mean, band.low, band.high))
    estimated = [not all(band.is_exact[max(0, row + 1 - window) : row + 1]) for row in range(len(mean))]
    # A line continues to the first point of the other kind.
    meets = [each or following for each, following in zip(estimated, [*estimated[1:], False], strict=True)]
    return WhatIfBand(
        answer.steps,
        moving_mean(recorded, window),
        [value if not estimate else None for value, estimate in zip(mean, estimated, strict=True)],
        [value if drawn else None for value, drawn in zip(mean, meets, strict=True)],
        [value if drawn else None for value, drawn in zip(low, meets, strict=True)],
        [value if drawn else None for value, drawn in zip(high, meets, strict=True)],
    )


def what_if_band_figure(
    data: WhatIfBand, palette: Palette, *, colour: str, kind: Kind, unit: str, title: str
) -> go.Figure:
    """Draw recorded values in grey and the forecast as a line; lighter, dashed and with a band if it is estimated."""
    form = "%{y:.1%}" if kind == "share" else f"%{{y:,.1~f}} {unit}"
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, "connectgaps": False}
    traces = [
        go.Scatter(x=data.steps, y=data.high, name="high", **edge),
        go.Scatter(x=data.steps, y=data.low, name="low", fill="tonexty", fillcolor=translucent(colour, 0.22), **edge),
        *(
            go.Scatter(
                x=data.steps,
                y=values,
                name=name,
                mode="lines",
                line={"color": line_colour, "width": width, "dash": dash},
                hovertemplate=form,
            )
            for name, values, line_colour, width, dash in (
                ("recorded", data.recorded, palette.reference, 1.5, "dot"),
                ("exact", data.exact, colour, 2, "solid"),
                (ESTIMATE, data.mean, translucent(colour, 0.7), 1.5, "dash"),
            )
        ),
    ]
    bound = ":.1%" if kind == "share" else ":,.1~f"
    traces[-1].update(
        customdata=list(zip(data.low, data.high, strict=True)),
        hovertemplate=f"{form} (%{{customdata[0]{bound}}} to %{{customdata[1]{bound}}})",
    )
    scale = {"tickformat": ".0%", "range": [0, 1.05]} if kind == "share" else {"tickformat": "~s"}
    return go.Figure(
        traces,
        {
            "height": 260,
            "xaxis": {"title": {"text": "step"}, "tickformat": ",d", "rangemode": "tozero"},
            "yaxis": {"title": {"text": title}, "rangemode": "tozero", **scale},
            "uirevision": "what-if",
        },
    )
