"""The curves of a chart: means over groups of runs as in a comparison, or each run alone over another metric."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.boards.selection import Selected
from backend.compare import curves, series
from backend.compare.series import Column
from backend.compare.service import Chosen
from backend.models import MetricKey
from backend.records.sampling import extreme_rows
from backend.records.smoothing import Smoothing, smoothed
from bapo.api.boards import MOST_POINTS, ChartPanel
from bapo.api.runs import METRIC_COLUMN


def chart_data(session: Session, panel: ChartPanel, found: Selected, chosen: Chosen) -> dict[str, Any]:
    """A `ChartData`, without identifiers of runs: it may be shown to people who see no run."""
    over = panel.x.removeprefix(METRIC_COLUMN) if panel.x.startswith(METRIC_COLUMN) else None
    columns = series.read(session, chosen.ids, [panel.y, *(curves.AXIS_KEYS if over is None else (over,))])
    values = {run_id: _smooth(columns[run_id][panel.y], panel.smooth) for run_id in chosen.ids}
    if over is None:
        drawn = curves.curves_of_metric(
            values,
            {run_id: curves.axes_of(columns[run_id]) for run_id in chosen.ids},
            chosen.groups,
            chosen.ids,
            x=panel.x,  # type: ignore[arg-type]  # the pattern leaves the three axes
            budget=None,
            max_points=MOST_POINTS,
            reduction="extremes",
        )
    else:
        label_of = {chosen.ids[index]: group.label for group in chosen.groups for index in group.members}
        pairs = [(label_of[run_id], columns[run_id][over], values[run_id]) for run_id in chosen.ids]
        drawn = [path for label, x, y in pairs if (path := _path(label, x, y)) is not None]
    return {
        "curves": [{**each, "run_ids": []} for each in drawn],
        "num_shown": len(chosen.ids),
        "num_matching": found.num_matching,
    }


def _smooth(column: Column, span: int) -> Column:
    if span == 1 or not len(column.values):
        return column
    return Column(column.steps, smoothed(column.values[None, :], Smoothing("mean", span))[0])


def _path(label: str, x: Column, y: Column) -> dict[str, Any] | None:
    """One run's way through both metrics, step by step; None where no step has both."""
    _, at_x, at_y = np.intersect1d(x.steps, y.steps, assume_unique=True, return_indices=True)
    if not len(at_x):
        return None
    across, along = x.values[at_x], y.values[at_y]
    num_positions = len(across)
    if num_positions > MOST_POINTS:
        rows = extreme_rows([across, along], num_positions, MOST_POINTS)
        across, along = across[rows], along[rows]
    return {
        **{"label": label, "x": across, "mean": along, "low": [], "high": [], "n": []},
        "num_positions": num_positions,
    }


def missing_metric(session: Session, panel: ChartPanel, run_ids: Sequence[str]) -> str | None:
    """Says that none of the runs has recorded what the chart is of, and what they have with a similar name."""
    known = session.scalars(select(MetricKey.key).where(MetricKey.run_id.in_(run_ids)).distinct()).all()
    for key in (panel.y, *([panel.x.removeprefix(METRIC_COLUMN)] if panel.x.startswith(METRIC_COLUMN) else [])):
        if key not in known:
            near = difflib.get_close_matches(key, known, n=2, cutoff=0.6)
            hint = f"; did you mean {' or '.join(near)}?" if near else " yet."
            return f"No run here has recorded {key}{hint}"
    return None
