"""The curves of a chart: means over groups of runs as in a comparison, or by stretches of another metric."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.boards.selection import Selected
from backend.models import MetricKey
from backend.readings.compare import curves, series
from backend.readings.compare.series import Column, of_one_set
from backend.readings.compare.service import Chosen
from backend.records.curves import Smoothing, extreme_rows, smoothed
from bapo.analysis.comparison import Floats, mean_by_stretches
from bapo.api.boards import MOST_POINTS, ChartPanel
from bapo.api.runs import METRIC_COLUMN


def chart_data(session: Session, panel: ChartPanel, found: Selected, chosen: Chosen) -> dict[str, Any]:
    """Return a `ChartData`, without identifiers of runs: it may be shown to people who see no run."""
    over = panel.x.removeprefix(METRIC_COLUMN) if panel.x.startswith(METRIC_COLUMN) else None
    keys = [panel.y, *(curves.AXIS_KEYS if over is None else (over,))]
    columns, notes = of_one_set(session, series.read(session, chosen.ids, keys), keys)
    values = {run_id: _smooth(columns[run_id][panel.y], panel.smooth) for run_id in chosen.ids}
    if over is None:
        drawn = curves.curves_of_metric(
            values,
            {run_id: curves.axes_of(columns[run_id]) for run_id in chosen.ids},
            chosen.groups,
            chosen.ids,
            chosen.replicates,
            x=panel.x,  # type: ignore[arg-type]  # the pattern leaves the three axes
            budget=None,
            max_points=MOST_POINTS,
            reduction="extremes",
        )
    else:
        drawn = []
        for group in chosen.groups:
            members = [chosen.ids[index] for index in group.members]
            ways = [_way(columns[run_id][over], values[run_id]) for run_id in members]
            keys = [chosen.replicates[index] for index in group.members]
            with_values = [each for each in zip(ways, keys, strict=True) if len(each[0][0])]
            drawn += _over_metric(group.label, [way for way, _ in with_values], [key for _, key in with_values])
    return {
        "curves": [{**each, "run_ids": []} for each in drawn],
        "num_shown": len(chosen.ids),
        "num_matching": found.num_matching,
        "note": " ".join(notes.values()),
    }


def _smooth(column: Column, span: int) -> Column:
    if span == 1 or not len(column.values):
        return column
    return Column(column.steps, smoothed(column.values[None, :], Smoothing("mean", span))[0])


def _way(x: Column, y: Column) -> tuple[Floats, Floats]:
    """Return a run's values of both metrics at the steps that have both, step by step."""
    _, at_x, at_y = np.intersect1d(x.steps, y.steps, assume_unique=True, return_indices=True)
    return x.values[at_x], y.values[at_y]


def _over_metric(
    label: str, ways: Sequence[tuple[Floats, Floats]], replicates: Sequence[Hashable]
) -> list[dict[str, Any]]:
    """Return the mean of several runs by stretches of the other metric, or the way of one run; none without a value."""
    if not ways:
        return []
    num_positions = sum(len(across) for across, _ in ways)
    if len(ways) > 1:
        drawn = mean_by_stretches(ways, replicates=replicates)._asdict()
    else:
        across, along = ways[0]
        if num_positions > MOST_POINTS:
            rows = extreme_rows([across, along], num_positions, MOST_POINTS)
            across, along = across[rows], along[rows]
        drawn = {"x": across, "mean": along, "low": [], "high": [], "n": []}
    return [{"label": label, **drawn, "num_positions": len(drawn["x"]) if len(ways) > 1 else num_positions}]


def missing_metric(session: Session, panel: ChartPanel, run_ids: Sequence[str]) -> str | None:
    """Return a message that no run has recorded the chart's metric, with similar names that they have recorded."""
    known = session.scalars(select(MetricKey.key).where(MetricKey.run_id.in_(run_ids)).distinct()).all()
    for key in (panel.y, *([panel.x.removeprefix(METRIC_COLUMN)] if panel.x.startswith(METRIC_COLUMN) else [])):
        if key not in known:
            near = difflib.get_close_matches(key, known, n=2, cutoff=0.6)
            hint = f"; did you mean {' or '.join(near)}?" if near else " yet."
            return f"No run here has recorded {key}{hint}"
    return None
