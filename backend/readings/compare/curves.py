"""Computes curves of runs and groups over a common axis."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from backend.readings.compare import series
from backend.readings.compare.series import Column, RunColumns
from backend.records.curves import extreme_rows
from bapo.analysis.comparison import (
    MOST_POSITIONS,
    Curve,
    Floats,
    MeanCurve,
    RunGroup,
    common_positions,
    cumulative_at,
    curve,
    cut,
    mean_curve,
)
from bapo.analysis.result import AppliedChange
from bapo.api.compare import CompareAxis

Reduction = Literal["extremes", "means"]

ROLLOUTS_KEY = "bapo/cost/num_rollouts"
SECONDS_KEY = "timing_s/step"
AXIS_KEYS = (ROLLOUTS_KEY, SECONDS_KEY)
"""Every training step has the first."""


class Budget(NamedTuple):
    """The common budget at which runs are cut off."""

    x: CompareAxis
    until: float
    run_id: str | None
    """The run that ends there; None if no other is longer, so that nothing is cut off."""


class Axes(NamedTuple):
    """Resources used by a run after each of its steps."""

    steps: NDArray[np.int64]
    rollouts: Floats
    seconds: Floats

    def at(self, x: CompareAxis, steps: NDArray[np.int64]) -> Floats:
        """Return the positions of steps on an axis; step 0 is at 0."""
        if x == "step":
            return steps.astype(np.float64)
        return cumulative_at(self.steps, self.rollouts if x == "rollouts" else self.seconds, steps)

    def end(self, x: CompareAxis) -> float:
        """Return the position of the run's last step on this axis."""
        return float(self.at(x, self.steps[-1:])[-1]) if len(self.steps) else 0.0


def axes_of(columns: RunColumns) -> Axes:
    """Return the axes from the metrics of `AXIS_KEYS`; a step without a time took none."""
    whole = series.table({key: columns[key] for key in AXIS_KEYS})
    seconds = np.cumsum(np.nan_to_num(whole.values[SECONDS_KEY]))
    rollouts = np.maximum.accumulate(np.nan_to_num(whole.values[ROLLOUTS_KEY]))
    return Axes(whole.steps, rollouts, seconds)


def read_axes(session: Session, run_ids: Sequence[str]) -> dict[str, Axes]:
    """Return the axes of some runs."""
    columns = series.read(session, run_ids, AXIS_KEYS)
    return {run_id: axes_of(columns[run_id]) for run_id in run_ids}


def common_budget(axes: Mapping[str, Axes], x: CompareAxis) -> Budget:
    """Return the smallest budget of a run that has trained at all."""
    ends = {run_id: each.end(x) for run_id, each in axes.items() if len(each.steps)}
    if not ends:
        return Budget(x, 0.0, None)
    shortest = min(ends, key=lambda run_id: ends[run_id])
    return Budget(x, ends[shortest], shortest if max(ends.values()) > ends[shortest] else None)


def changes_on_axis(
    run_id: str, changes: Sequence[AppliedChange], axes: Axes, x: CompareAxis, budget: Budget | None
) -> list[dict[str, Any]]:
    """Return the parameter changes of a run as `ChangeOnAxis`, up to the budget."""
    positions = axes.at(x, np.array([change.step for change in changes], np.int64)).tolist()
    return [
        {"run_id": run_id, "x": position, "change": change.model_dump()}
        for position, change in zip(positions, changes, strict=True)
        if budget is None or position <= budget.until
    ]


def curve_of(column: Column, axes: Axes, x: CompareAxis, budget: Budget | None = None) -> Curve:
    """Return a metric of a run over an axis, up to the budget."""
    whole = curve(axes.at(x, column.steps), column.values)
    return whole if budget is None else cut(whole, budget.until)


def curves_of_metric(
    columns: Mapping[str, Column],
    axes: Mapping[str, Axes],
    groups: Sequence[RunGroup],
    run_ids: Sequence[str],
    replicates: Sequence[Hashable],
    *,
    x: CompareAxis,
    budget: Budget | None,
    max_points: int,
    reduction: Reduction,
) -> list[dict[str, Any]]:
    """Return one curve for each group, as `ComparedCurve`; groups without any value are left out.

    `replicates`: the key of each run's replicate (`replicate_keys`).
    """
    found = []
    for group in groups:
        members = [run_ids[index] for index in group.members]
        curves = [curve_of(columns[run_id], axes[run_id], x, budget) for run_id in members]
        num_measured = max(len(each.x) for each in curves)
        if reduction == "means":
            curves = _averaged(curves, max_points)
        positions = common_positions(curves, MOST_POSITIONS if reduction == "extremes" else max_points)
        if not len(positions):
            continue
        if len(curves) == 1:
            alone = curves[0]
            nothing = np.empty(0)
            whole = MeanCurve(alone.x, alone.y, nothing, nothing, np.empty(0, np.int64))
        else:
            whole = mean_curve(curves, positions, [replicates[index] for index in group.members])
        reduced = _extremes(whole, max_points) if reduction == "extremes" else whole
        num_positions = len(whole.x) if reduction == "extremes" else num_measured
        found.append({"label": group.label, "run_ids": members, **reduced._asdict(), "num_positions": num_positions})
    return found


def _extremes(whole: MeanCurve, max_points: int) -> MeanCurve:
    """Reduce a curve to fewer points, each column's extremes among them."""
    if len(whole.x) <= max_points:
        return whole
    columns = [whole.mean, *(bound for bound in (whole.low, whole.high) if len(bound))]
    return _pick(whole, extreme_rows(columns, len(whole.x), max_points))


def _pick(whole: MeanCurve, rows: NDArray[np.intp]) -> MeanCurve:
    has_bounds = len(whole.n) > 0
    return MeanCurve(
        whole.x[rows],
        whole.mean[rows],
        whole.low[rows] if has_bounds else whole.low,
        whole.high[rows] if has_bounds else whole.high,
        whole.n[rows] if has_bounds else whole.n,
    )


def _averaged(curves: Sequence[Curve], num_stretches: int) -> list[Curve]:
    """Return each curve as means over equal stretches of the range of all; one with fewer values stays as it is."""
    ends = [(each.x[0], each.x[-1]) for each in curves if len(each.x)]
    if not ends:
        return list(curves)
    edges = np.linspace(min(first for first, _ in ends), max(last for _, last in ends), num_stretches + 1)
    return [each if len(each.x) <= num_stretches else _over_stretches(each, edges) for each in curves]


def _over_stretches(whole: Curve, edges: Floats) -> Curve:
    # The last stretch has its end too.
    stretch = np.minimum(np.searchsorted(edges, whole.x, side="right"), len(edges) - 1)
    begins = np.flatnonzero(np.append(True, stretch[1:] != stretch[:-1]))
    lengths = np.diff(np.append(begins, len(whole.x)))
    return Curve(np.add.reduceat(whole.x, begins) / lengths, np.add.reduceat(whole.y, begins) / lengths)
