"""What became of the difficult prompts that the current policy answered again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api import Series
from frontend.theme import Palette

KEYS = (
    "bapo/batch/reevaluated",
    "bapo/batch/improved",
    "bapo/batch/x2",
    "bapo/batch/surplus_stored",
    "bapo/batch/surplus_dropped",
    "bapo/batch/solved",
    "bapo/batch/still_difficult",
)


class ReevaluationFunnel(NamedTuple):
    """Totals over the steps."""

    reevaluated: int
    improved: int
    """c1 < accuracy < 1 after re-evaluation."""
    x2: int
    """Improved and trained on."""
    surplus_stored: int
    surplus_dropped: int
    solved: int
    still_difficult: int


def reevaluation_data(series: Series) -> ReevaluationFunnel:
    """Sum the counts; the series must hold every step."""
    sums = (sum(int(value) for value in series.columns.get(key, ()) if value is not None) for key in KEYS)
    return ReevaluationFunnel(*sums)


def reevaluation_figure(data: ReevaluationFunnel, palette: Palette) -> go.Figure:
    """One bar per outcome, with its share of all re-evaluations."""
    bars: Sequence[tuple[str, int, str]] = (
        ("re-evaluated", data.reevaluated, palette.reference),
        ("still difficult", data.still_difficult, palette.ramp[0]),
        ("improved", data.improved, palette.ramp[3]),
        ("  in the batch (X2)", data.x2, palette.reevaluated),
        ("  stored for reuse", data.surplus_stored, palette.reused),
        ("  dropped, no room", data.surplus_dropped, palette.muted),
        ("solved (G/G)", data.solved, palette.ramp[4]),
    )
    total = data.reevaluated
    figure = go.Figure(
        go.Bar(
            x=[value for _, value, _ in bars],
            y=[name for name, _, _ in bars],
            orientation="h",
            marker={"color": [colour for _, _, colour in bars]},
            text=[f"{value:,}" + (f" · {100 * value / total:.1f} %" if total else "") for _, value, _ in bars],
            textposition="outside",
            cliponaxis=False,
            hoverinfo="skip",
            showlegend=False,
        )
    )
    return figure.update_layout(
        height=260,
        bargap=0.35,
        xaxis={"title": {"text": "prompts so far"}, "range": [0, max(total, 1) * 1.25], "tickformat": ",d"},
        yaxis={"autorange": "reversed", "showgrid": False},
        uirevision="totals",
    )
