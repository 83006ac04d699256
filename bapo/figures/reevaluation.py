"""Outcomes of re-evaluations: improved, solved or still difficult."""

from __future__ import annotations

from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.theme import Palette

KEYS = (
    "bapo/batch/reevaluated",
    "bapo/batch/improved",
    "bapo/batch/x2",
    "bapo/batch/surplus_stored",
    "bapo/batch/surplus_dropped",
    "bapo/batch/solved",
    "bapo/batch/still_difficult",
)


STAGES = ("re-evaluated", "outcome", "improved go to")


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


class Segment(NamedTuple):
    """A part of one stage of the funnel."""

    stage: str
    name: str
    num_prompts: int
    begin: int
    """Start of the segment, below the segment that it is a part of."""
    of: int
    """Total of which the segment is a share."""
    colour: str


def segments(data: ReevaluationFunnel, palette: Palette) -> list[Segment]:
    """Return the candidates, their results under the current policy, and the destinations of the improved ones."""
    improved = data.improved
    return [
        Segment(STAGES[0], "re-evaluated", data.reevaluated, 0, data.reevaluated, palette.reference),
        Segment(STAGES[1], "improved", improved, 0, data.reevaluated, palette.ramp[3]),
        Segment(STAGES[1], "solved (G/G)", data.solved, improved, data.reevaluated, palette.ramp[4]),
        Segment(
            STAGES[1],
            "still difficult",
            data.still_difficult,
            improved + data.solved,
            data.reevaluated,
            palette.ramp[0],
        ),
        Segment(STAGES[2], "in the batch (X2)", data.x2, 0, improved, palette.reevaluated),
        Segment(STAGES[2], "surplus, stored for reuse", data.surplus_stored, data.x2, improved, palette.reused),
        Segment(
            STAGES[2],
            "surplus, dropped",
            data.surplus_dropped,
            data.x2 + data.surplus_stored,
            improved,
            palette.muted,
        ),
    ]


def reevaluation_figure(data: ReevaluationFunnel, palette: Palette) -> go.Figure:
    """Draw three stages below one another; each part is below the whole that it belongs to and shows its share."""
    parts = segments(data, palette)
    bars = [
        go.Bar(
            x=[part.num_prompts],
            y=[part.stage],
            base=[part.begin],
            name=part.name,
            orientation="h",
            marker={"color": part.colour},
            text=f"{part.num_prompts:,}" + (f" · {100 * part.num_prompts / part.of:.1f} %" if part.of else ""),
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            hovertemplate=f"{part.name}: {part.num_prompts:,} of {part.of:,}<extra></extra>",
        )
        for part in parts
    ]
    for bar, part in zip(bars, parts, strict=True):
        bar.name = f"{part.name} {part.num_prompts:,}" + (
            f" ({100 * part.num_prompts / part.of:.1f} %)" if part.of else ""
        )
        bar.showlegend = part.stage != STAGES[0]
    return go.Figure(
        bars,
        {
            "height": 320,
            "barmode": "overlay",
            "bargap": 0.25,
            # A part that is too narrow for its text tells it where one points at it, and in the legend.
            "uniformtext": {"minsize": 10, "mode": "hide"},
            "hovermode": "closest",
            "xaxis": {"title": {"text": "prompts"}, "range": [0, max(data.reevaluated, 1)], "tickformat": "~s"},
            "yaxis": {
                "autorange": "reversed",
                "showgrid": False,
                "categoryarray": list(STAGES),
                "fixedrange": True,
            },
            "legend": {"y": -0.28, "yanchor": "top"},
            "uirevision": "totals",
        },
    )
