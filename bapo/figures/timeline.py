"""The newest steps as bars over time, one row per process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.theme import Palette
from bapo.records import Span, StepRecord
from bapo.records.spans import Process

PHASES = {
    "gen": "generation",
    "wait": "waiting for responses",
    "reevaluation": "re-evaluation (X2)",
    "batch": "batch construction",
    "update": "update",
    "sync": "hand-over of weights",
    "evaluation": "evaluation and tracking",
    "checkpoint": "checkpoint",
}
"""Phases in the order of the legend."""


class Bar(NamedTuple):
    """One phase of a process."""

    step: int
    """That it belongs to, of the generator that whose responses were generated."""
    begin: float
    """Seconds since the first bar."""
    seconds: float


class Row(NamedTuple):
    """One process."""

    process: Process
    bars: Sequence[tuple[str, Bar]]
    """Phase → bar."""
    idle_share: float
    """Share of the time shown in which it waited, or had nothing to do."""


class Timeline(NamedTuple):
    """All processes over the same time."""

    rows: Sequence[Row]
    seconds: float
    mean_steps_ahead: float | None
    """Later steps whose responses were there when a step took its own; None without a generator."""


def timeline_data(records: Sequence[StepRecord]) -> Timeline:
    """Read the spans off the steps of one attempt, the newest one's; empty where none were recorded."""
    newest = [record for record in records if record.attempt == records[-1].attempt]
    spans = [(record.step, span) for record in newest for span in record.spans]
    if not spans:
        return Timeline([], 0.0, None)
    first = min(span.begin for _, span in spans if span.process == "trainer")
    last = max(span.begin + span.seconds for _, span in spans)
    # Responses of the first step shown may be older than all else.
    shown = [(step, span) for step, span in spans if span.begin >= first]
    seconds = last - first
    rows = []
    for process in ("trainer", "generator"):
        own = [(step, span) for step, span in shown if span.process == process]
        if own:
            bars = [
                (span.phase, Bar(span.step or step, span.begin - first, span.seconds))
                for step, span in sorted(own, key=lambda each: each[1].phase == "wait")
            ]
            rows.append(Row(process, bars, 1 - sum(map(_busy_seconds, own)) / seconds))
    return Timeline(rows, seconds, _mean_steps_ahead(spans))


def _busy_seconds(of_step: tuple[int, Span]) -> float:
    """Return the seconds that a span adds; those of waiting lie within another one."""
    _, span = of_step
    return -span.seconds if span.phase == "wait" else span.seconds


def _mean_steps_ahead(spans: Sequence[tuple[int, Span]]) -> float | None:
    ends = {span.step: span.begin + span.seconds for _, span in spans if span.process == "generator"}
    taken = {step: span.begin for step, span in spans if span.phase == "gen" and span.process == "trainer"}
    ahead = [
        sum(step < later and end <= begin for later, end in ends.items() if later is not None)
        for step, begin in taken.items()
    ]
    return sum(ahead) / len(ahead) if ends and ahead else None


def timeline_figure(data: Timeline, palette: Palette) -> go.Figure:
    """Draw a row of bars per process, with its idle share."""
    colours = {
        "gen": palette.fresh,
        "wait": palette.grid,
        "reevaluation": palette.reevaluated,
        "batch": palette.reused,
        "update": palette.series[2],
        "sync": palette.mark,
        "evaluation": palette.series[1],
        "checkpoint": palette.reference,
    }
    traces = []
    for phase, name in PHASES.items():
        bars = [(_label(row), bar) for row in data.rows for its_phase, bar in row.bars if its_phase == phase]
        if bars:
            traces.append(
                go.Bar(
                    x=[bar.seconds for _, bar in bars],
                    y=[label for label, _ in bars],
                    base=[bar.begin for _, bar in bars],
                    customdata=[bar.step for _, bar in bars],
                    name=name,
                    orientation="h",
                    marker={"color": colours[phase]},
                    hovertemplate=f"{name}, step %{{customdata}}: %{{x:.3f}} s<extra></extra>",
                )
            )
    ahead = "" if data.mean_steps_ahead is None else f" · {data.mean_steps_ahead:.1f} steps ahead on average"
    return go.Figure(
        traces,
        {
            "barmode": "overlay",
            "bargap": 0.3,
            "hovermode": "closest",
            "xaxis": {"title": {"text": f"seconds{ahead}"}, "range": [0, data.seconds or 1]},
            "yaxis": {
                "autorange": "reversed",
                "showgrid": False,
                "categoryarray": [_label(row) for row in data.rows],
                "fixedrange": True,
            },
            "legend": {"y": -0.28, "yanchor": "top"},
            "uirevision": "timeline",
        },
    )


def _label(row: Row) -> str:
    return f"{row.process}, {100 * row.idle_share:.0f} % idle"
