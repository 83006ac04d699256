"""Curves of several runs that are replicates of one another: their mean and its 95 % interval."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from bapo.analysis.comparison import Curve, MeanCurve, common_positions, curve, mean_curve
from bapo.figures.groups import Group, replicates_of
from bapo.figures.lines import interval_band
from bapo.figures.looks import LineStyle
from bapo.figures.recorded import Floats, RecordedRun
from bapo.figures.smoothing import WINDOW_STEPS
from bapo.figures.theme import translucent

MOST_POSITIONS = 150
"""Points of a curve; a moving mean over more steps than lie between two of them hides nothing."""
MOST_MARKERS = 20
FEW_CURVES = 3
MOST_LETTERS = 60
"""Most letters of a label in a legend."""


class SeedCurve(NamedTuple):
    """The mean over some replicates, and Student's 95 % interval, None where there is none."""

    label: str
    n: int
    """Replicates that the curve is made from."""
    x: Sequence[float]
    mean: Sequence[float | None]
    low: Sequence[float | None]
    high: Sequence[float | None]


def smoothed(values: Floats, window: int) -> Floats:
    """Return mean of the last `window` values, gaps left out; NaN where all of them are gaps."""
    known = ~np.isnan(values)
    sums = np.concatenate(([0.0], np.cumsum(np.where(known, values, 0.0))))
    counts = np.concatenate(([0], np.cumsum(known)))
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(0, ends - window)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = np.where(
            counts[ends] > counts[begins], (sums[ends] - sums[begins]) / (counts[ends] - counts[begins]), np.nan
        )
    return means


def window_of(runs: Sequence[RecordedRun]) -> int:
    """Return steps that smoothed curves of these runs average over: ten, more where a curve has fewer points than
    steps."""
    longest = max((run.last_step for run in runs), default=0)
    return max(WINDOW_STEPS, -(-longest // MOST_POSITIONS))


def metric_curves(groups: Sequence[Group], key: str, *, window: int = 1) -> list[SeedCurve]:
    """Return a metric of training steps over the steps; groups without it are left out."""

    def of_run(run: RecordedRun) -> Curve:
        return curve(run.step_numbers, smoothed(run.column(key), window))

    return seed_curves(groups, of_run)


def seed_curves(groups: Sequence[Group], of_run: Callable[[RecordedRun], Curve]) -> list[SeedCurve]:
    """Return one curve per group, of at most `MOST_POSITIONS` points; groups without a measured point are left out."""
    found = []
    for group in groups:
        measured = [(run, each) for run in group.runs if len((each := of_run(run)).x)]
        if measured:
            curves, keys = [each for _, each in measured], replicates_of([run for run, _ in measured])
            mean = mean_curve(curves, _positions(curves), keys)
            found.append(seed_curve(group.label, mean, len(set(keys))))
    return found


def seed_curve(label: str, mean: MeanCurve, n: int) -> SeedCurve:
    """Convert the numbers to the form that figures take."""
    return SeedCurve(label, n, mean.x.tolist(), *(_numbers(values) for values in (mean.mean, mean.low, mean.high)))


def _positions(curves: Sequence[Curve]) -> Floats:
    """Return measured positions, evenly thinned out: between two of them nothing need be interpolated."""
    positions = common_positions(curves)
    if len(positions) <= MOST_POSITIONS:
        return positions
    chosen = np.unique(np.linspace(0, len(positions) - 1, MOST_POSITIONS).round().astype(int))
    thinned: Floats = positions[chosen]
    return thinned


def _numbers(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def shown(label: str) -> str:
    """Return a label as plotly shows it: not too long, and without markup."""
    return html.escape(label if len(label) <= MOST_LETTERS else label[: MOST_LETTERS - 1] + "…")


def curve_traces(
    data: SeedCurve,
    style: LineStyle,
    *,
    axis: str = "",
    hover: str = ".3g",
    show_legend: bool = True,
    num_curves: int = 1,
) -> list[go.Scatter]:
    """Return the mean as a line, and its interval as a band behind it where there is one; `axis` is "", "2", "3" …

    Bands are fainter where there are many, and over two runs, whose interval is 12.7 standard errors wide.
    """
    strength = (0.15 if num_curves <= FEW_CURVES else 0.1) * (0.5 if data.n == 2 else 1)
    placed: dict[str, Any] = {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "legendgroup": data.label}
    banded = [
        (x, low, high)
        for x, low, high in zip(data.x, data.low, data.high, strict=True)
        if low is not None and high is not None
    ]
    traces = []
    if banded:
        x, low, high = (list(column) for column in zip(*banded, strict=True))
        name, fill = f"{shown(data.label)} 95 % interval", translucent(style.colour, strength)
        traces.append(interval_band(x, low, high, name, fill, **placed))
    traces.append(
        go.Scatter(
            x=data.x,
            y=data.mean,
            customdata=[
                "" if low is None or high is None else f" [{low:{hover}}, {high:{hover}}]"
                for low, high in zip(data.low, data.high, strict=True)
            ],
            name=f"{shown(data.label)} (n = {data.n})",
            mode="lines+markers" if len(data.x) <= MOST_MARKERS else "lines",
            line={"color": style.colour, "dash": style.dash, "width": 2},
            marker={"symbol": style.symbol, "size": 7},
            hovertemplate=f"%{{y:{hover}}}%{{customdata}}",
            showlegend=show_legend,
            **placed,
        )
    )
    return traces
