"""One prompt's accuracy at each of its visits, by source, against the thresholds in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.api.prompts import PromptDetail
from bapo.api.records import Series
from bapo.figures.axes import XAxis, accuracy_axis, over_training
from bapo.figures.lines import column
from bapo.figures.looks import SOURCE_NAMES, DrawnSource, drawn_sources
from bapo.figures.theme import Palette, translucent
from bapo.rollout import BatchSource

THRESHOLD_KEYS = ("bapo/thresholds/c1", "bapo/thresholds/c2", "bapo/thresholds/c3")

SYMBOLS: Mapping[BatchSource, str] = {
    BatchSource.FRESH: "circle",
    BatchSource.REEVALUATED: "triangle-up",
    BatchSource.REUSED: "square",
}
"""Marker of each source; the small courses in the table have the same shapes (assets/prompts.js)."""

NOT_TRAINED_OPACITY = 0.45


class Visit(NamedTuple):
    """One visit of the prompt, as a point."""

    step: int
    source: BatchSource
    num_correct: int
    generated_step: int | None
    """First step that the policy which answered could answer in; before `step` where it was stale by then."""
    in_batch: bool
    reason: str | None


class Sampling(NamedTuple):
    """The prompt answered apart from training."""

    step: int
    accuracy: float


class PromptHistory(NamedTuple):
    """A prompt over the run."""

    group_size: int
    last_step: int
    """Last step of the run."""
    visits: Sequence[Visit]
    samplings: Sequence[Sampling]
    threshold_steps: Sequence[int]
    c1: Sequence[float | None]
    c2: Sequence[float | None]
    c3: Sequence[float | None]


def prompt_history_data(prompt: PromptDetail, thresholds: Series, last_step: int) -> PromptHistory:
    """Return visits with the step at which each group was generated: policy version + 1."""
    rows = prompt.visits
    columns = zip(
        rows.step, rows.source, rows.num_correct, rows.policy_version, rows.in_batch, rows.reason, strict=True
    )
    tracked = prompt.trackings
    return PromptHistory(
        prompt.group_size,
        last_step,
        [
            Visit(step, source, num_correct, None if version is None else version + 1, in_batch, reason)
            for step, source, num_correct, version, in_batch, reason in columns
        ],
        [
            Sampling(step, num_correct / group_size)
            for step, num_correct, group_size in zip(tracked.step, tracked.num_correct, tracked.group_size, strict=True)
        ],
        thresholds.steps,
        *(column(thresholds, key) for key in THRESHOLD_KEYS),
    )


def prompt_history_figure(data: PromptHistory, palette: Palette) -> go.Figure:
    """Draw markers by source over the band of reuse; dotted lines lead from a stale group's generation to its visit."""
    axis = XAxis("step", [1, data.last_step], [1, data.last_step], 0)
    traces = [
        *_thresholds(data, palette),
        _staleness(data, palette),
        _course(data, palette),
        *(_visits(data, source, palette) for source in drawn_sources(palette)),
        _samplings(data, palette),
    ]
    yaxis = accuracy_axis(data.group_size) | {"range": [-0.06, 1.06]}
    return over_training(traces, axis, yaxis=yaxis, height=320, hovermode="closest")


def _thresholds(data: PromptHistory, palette: Palette) -> list[go.Scatter]:
    edge = {"color": translucent(palette.reused, 0.5), "width": 1, "shape": "hv"}

    def line(values: Sequence[float | None], name: str, style: dict[str, Any]) -> go.Scatter:
        return go.Scatter(x=data.threshold_steps, y=values, name=name, mode="lines", line=style, hoverinfo="skip")

    return [
        line(data.c2, "c2", edge).update(showlegend=False),
        line(data.c3, "c2 to c3: reusable", edge).update(fill="tonexty", fillcolor=translucent(palette.reused, 0.12)),
        line(data.c1, "c1: difficult up to", {"color": translucent(palette.bad, 0.7), "width": 1, "shape": "hv"}),
    ]


def _staleness(data: PromptHistory, palette: Palette) -> go.Scatter:
    steps: list[int | None] = []
    accuracies: list[float | None] = []
    for visit in data.visits:
        if visit.generated_step is not None and visit.generated_step < visit.step:
            accuracy = visit.num_correct / data.group_size
            steps += [visit.generated_step, visit.step, None]
            accuracies += [accuracy, accuracy, None]
    return go.Scatter(
        x=steps,
        y=accuracies,
        name="age of the policy that answered",
        mode="lines",
        line={"color": palette.reference, "width": 1.5, "dash": "dot"},
        hoverinfo="skip",
    )


def _course(data: PromptHistory, palette: Palette) -> go.Scatter:
    evaluations = [visit for visit in data.visits if visit.source is not BatchSource.REUSED]
    return go.Scatter(
        x=[visit.step for visit in evaluations],
        y=[visit.num_correct / data.group_size for visit in evaluations],
        mode="lines",
        line={"color": translucent(palette.muted, 0.45), "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )


def _visits(data: PromptHistory, drawn: DrawnSource, palette: Palette) -> go.Scatter:
    visits = [visit for visit in data.visits if visit.source is drawn.source]
    return go.Scatter(
        x=[visit.step for visit in visits],
        y=[visit.num_correct / data.group_size for visit in visits],
        name=drawn.name,
        mode="markers",
        marker={
            "color": drawn.colour,
            "symbol": SYMBOLS[drawn.source],
            "size": 10,
            "line": {"color": palette.card, "width": 1},
            "opacity": [1.0 if visit.in_batch else NOT_TRAINED_OPACITY for visit in visits],
        },
        text=[hover_text(visit, data.group_size) for visit in visits],
        hovertemplate="%{text}<extra></extra>",
    )


def _samplings(data: PromptHistory, palette: Palette) -> go.Scatter:
    return go.Scatter(
        x=[sampling.step for sampling in data.samplings],
        y=[sampling.accuracy for sampling in data.samplings],
        name="tracked, apart from training",
        mode="markers",
        marker={"color": palette.text, "symbol": "diamond-open", "size": 11, "line": {"width": 1.5}},
        hovertemplate="step %{x:,d}, tracked: %{y:.1%}<extra></extra>",
    )


def hover_text(visit: Visit, group_size: int) -> str:
    """Return the hover text of a visit."""
    age = None if visit.generated_step is None else visit.step - visit.generated_step
    if age is None:
        policy = "by a policy that was not recorded"
    else:
        policy = "by the current policy" if age <= 0 else f"by a policy {age} step{'s' * (age != 1)} old"
    trained = "trained on" if visit.in_batch else f"not trained on: {reason_text(visit.reason)}"
    name = SOURCE_NAMES[visit.source]
    return f"step {visit.step:,} · {name}<br>{visit.num_correct}/{group_size} correct, {policy}<br>{trained}"


REASONS: Mapping[str, str] = {
    "all_wrong": "all wrong",
    "all_correct": "all correct",
    "filtered": "left out by the online filter",
    "no_room": "no room in the batch",
    "probed": "answered in a probe",
    "solved": "solved",
    "still_difficult": "still difficult",
    "surplus_stored": "no room, stored for reuse",
    "surplus_dropped": "no room, dropped",
}
"""Why a group was not trained on, in words."""


def reason_text(reason: str | None) -> str:
    """Return the reason in words; one that is not known here is one of ours from a newer trainer."""
    return REASONS.get(reason or "", "no reason given")
