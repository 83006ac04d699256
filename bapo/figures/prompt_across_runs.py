"""One prompt's accuracy in each of several runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.api.prompts import PromptCurve, PromptCurves
from bapo.config.method import METHODS
from bapo.figures.axes import XAxis, accuracy_axis, over_training
from bapo.figures.looks import SOURCE_NAMES, styles_of
from bapo.figures.prompt_history import SYMBOLS
from bapo.figures.theme import Palette

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""Dashes of the runs of one method and model, in the order of the list."""


class RunLine(NamedTuple):
    """A run's line."""

    name: str
    group: str
    """The method, and the model where there are several: its runs share a colour."""
    steps: Sequence[int]
    accuracies: Sequence[float]
    texts: Sequence[str]
    symbols: Sequence[str]
    dash: str


class AcrossRuns(NamedTuple):
    """A prompt in several runs."""

    lines: Sequence[RunLine]
    last_step: int
    group_size: int | None
    """`None` if the runs have several."""


def across_runs_data(curves: PromptCurves) -> AcrossRuns:
    """Return one line per run with evaluations."""
    models = {curve.model for curve in curves.items}
    seen = Counter[str]()
    lines = []
    for curve in curves.items:
        if curve.step:
            method = METHODS.get(curve.method)
            label = curve.method if method is None else method.label
            group = f"{label} · {curve.model}" if len(models) > 1 else label
            lines.append(_line(curve, group, DASHES[seen[group] % len(DASHES)]))
            seen[group] += 1
    sizes = {curve.group_size for curve in curves.items}
    last_step = max((curve.step[-1] for curve in curves.items if curve.step), default=1)
    return AcrossRuns(lines, last_step, sizes.pop() if len(sizes) == 1 else None)


def _line(curve: PromptCurve, group: str, dash: str) -> RunLine:
    columns = zip(curve.step, curve.num_correct, curve.policy_version, curve.source, strict=True)
    return RunLine(
        curve.run_name,
        group,
        curve.step,
        [count / curve.group_size for count in curve.num_correct],
        [
            f"{curve.run_name[:60]}<br>step {step:,}: {count}/{curve.group_size}, {SOURCE_NAMES[source]}"
            + ("" if version is None else f"<br>policy version {version:,}")
            for step, count, version, source in columns
        ],
        [SYMBOLS[source] for source in curve.source],
        dash,
    )


def across_runs_figure(data: AcrossRuns, palette: Palette) -> go.Figure:
    """Draw a line per run; runs of one method and model have one colour and are adjacent in the legend."""
    axis = XAxis("step", [1, data.last_step], [1, data.last_step], 0)
    styles = styles_of([line.group for line in data.lines], palette)
    traces = [
        go.Scatter(
            x=line.steps,
            y=line.accuracies,
            name=f"{line.group}: {line.name if len(line.name) <= 40 else f'{line.name[:39]}…'}",
            legendgroup=line.group,
            mode="lines+markers",
            line={"color": styles[line.group].colour, "width": 1.5, "dash": line.dash},
            marker={"symbol": line.symbols, "size": 7},
            text=line.texts,
            hovertemplate="%{text}<extra></extra>",
        )
        for line in data.lines
    ]
    yaxis: dict[str, Any] = (
        {"title": {"text": "accuracy"}, "tickformat": ".0%"}
        if data.group_size is None
        else accuracy_axis(data.group_size)
    )
    return over_training(traces, axis, yaxis=yaxis | {"range": [-0.06, 1.06]}, height=340, hovermode="closest")
