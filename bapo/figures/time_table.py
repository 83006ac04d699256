"""Table 2: what each method cost in rollouts, tokens, time and machine hours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from bapo.analysis.result import MeanEstimate
from bapo.config.method import is_trainable
from bapo.figures import formatting
from bapo.figures.axes import ROLLOUTS_KEY
from bapo.figures.batch_composition import KEYS
from bapo.figures.groups import Group, estimate_over, replicates_of
from bapo.figures.recorded import BATCH, ELAPSED, STEP_SECONDS, TOKENS, RecordedRun
from bapo.figures.tables import Cell, Column, TextTable, percent_cell, spread_cell, table_figure
from bapo.figures.theme import Palette

SECONDS_PER_HOUR = 3600.0


class TimeRow(NamedTuple):
    """One method; estimates over its runs."""

    label: str
    n: int
    batch_sizes: str
    """Prompts rolled out, groups per optimizer step; as in the paper."""
    num_steps: MeanEstimate | None
    fill: MeanEstimate | None
    """Groups trained on as a share of B."""
    num_rollouts: MeanEstimate | None
    num_tokens: MeanEstimate | None
    step_seconds: MeanEstimate | None
    """Duration of a training step in seconds, without evaluation and tracking."""
    training_seconds: MeanEstimate | None
    """Duration of all training steps, in seconds."""
    total_seconds: MeanEstimate | None
    """Duration of all attempts in seconds, including evaluation and tracking."""
    compute_hours: MeanEstimate | None
    """GPU-hours, or slot-hours on the CPU."""
    cost: MeanEstimate | None
    """Cost of these hours; None without prices."""


class TimeTable(NamedTuple):
    """Cost and time of every group."""

    rows: Sequence[TimeRow]
    unit: str
    """`GPU-hours`, `slot-hours`, or both where the runs differ."""
    currency: str
    """Currency of the cost; empty without prices."""


def time_table_data(groups: Sequence[Group]) -> TimeTable:
    """Read the costs off the metrics."""
    units = {"GPU-hours" if run.num_gpus else "slot-hours" for group in groups for run in group.runs}
    rows = [
        TimeRow(
            group.label,
            len(set(replicates_of(group.runs))),
            _batch_sizes(group.runs),
            _over(group, lambda run: float(run.last_step) or None),
            _over(group, _fill),
            _over(group, lambda run: _latest(run, ROLLOUTS_KEY)),
            _over(group, lambda run: _latest(run, TOKENS)),
            _over(group, _step_seconds),
            _over(group, _training_seconds),
            _over(group, total_seconds),
            _over(group, compute_hours_of),
            _over(group, lambda run: run.cost),
        )
        for group in groups
    ]
    priced = [run.currency for group in groups for run in group.runs if run.cost is not None]
    return TimeTable(rows, " or ".join(sorted(units)), priced[0] if priced else "")


def total_seconds(run: RecordedRun) -> float | None:
    """Add up the time of all attempts: the clock of each begins at 0, so every fall marks another."""
    clock = run.column(ELAPSED)
    clock = clock[~np.isnan(clock)]
    if not len(clock):
        return None
    ends = np.append(clock[1:] < clock[:-1], True)
    return float(clock[ends].sum())


def _over(group: Group, figure: Callable[[RecordedRun], float | None]) -> MeanEstimate | None:
    return estimate_over(group.runs, figure)


def _latest(run: RecordedRun, key: str) -> float | None:
    values = run.column(key)
    known = values[~np.isnan(values)]
    return float(known[-1]) if len(known) else None


def _fill(run: RecordedRun) -> float | None:
    trained, sizes = run.column(BATCH), run.column(KEYS[-1])
    total = float(np.nansum(sizes))
    return float(np.nansum(trained)) / total if total else None


def _step_seconds(run: RecordedRun) -> float | None:
    seconds = run.column(STEP_SECONDS)
    # A server's sample keeps the extremes: its mean would be too high.
    return None if run.num_left_out or np.isnan(seconds).all() else float(np.nanmean(seconds))


def _training_seconds(run: RecordedRun) -> float | None:
    seconds = run.column(STEP_SECONDS)
    return None if run.num_left_out or np.isnan(seconds).all() else float(np.nansum(seconds))


def compute_hours_of(run: RecordedRun) -> float | None:
    """Compute hours of all attempts; None of another trainer's run."""
    if run.compute_hours is not None:
        return run.compute_hours
    seconds = total_seconds(run)
    # How many GPUs another trainer used is not known.
    if seconds is None or not is_trainable(run.config["method"]["type"]):
        return None
    return seconds / SECONDS_PER_HOUR * max(1, run.num_gpus)


def _batch_sizes(runs: Sequence[RecordedRun]) -> str:
    sizes = {
        (
            run.config["rollout"]["batch_size"],
            run.config["training"].get("mini_batch_size") or run.config["training"]["batch_size"],
        )
        for run in runs
    }
    return ", ".join(f"({sample}, {train})" for sample, train in sorted(sizes))


def time_text(data: TimeTable) -> TextTable:
    """Format the table."""
    columns = [
        Column("method", align="left"),
        Column("n"),
        Column("batch size"),
        Column("steps"),
        Column("batch full, %"),
        Column("rollouts"),
        Column("tokens"),
        Column("time per step"),
        Column("training"),
        Column("with evaluation"),
        Column(data.unit),
        *([Column(f"cost, {data.currency}")] if data.currency else []),
    ]
    rows = [
        [
            Cell(row.label),
            Cell(str(row.n)),
            Cell(row.batch_sizes),
            spread_cell(row.num_steps, formatting.count),
            percent_cell(row.fill),
            spread_cell(row.num_rollouts, formatting.count),
            spread_cell(row.num_tokens, formatting.count),
            _step_cell(row.step_seconds),
            spread_cell(row.training_seconds, formatting.duration),
            spread_cell(row.total_seconds, formatting.duration),
            spread_cell(row.compute_hours, formatting.decimal),
            *([spread_cell(row.cost, lambda value: formatting.decimal(value, 2))] if data.currency else []),
        ]
        for row in data.rows
    ]
    return TextTable(columns, rows)


def _step_cell(seconds: MeanEstimate | None) -> Cell:
    if seconds is None or seconds.value >= 100:
        return spread_cell(seconds, formatting.duration)
    cell = spread_cell(seconds, lambda value: f"{value:.2f}")
    return cell._replace(text=f"{cell.text} s")


def time_table_figure(data: TimeTable, palette: Palette) -> go.Figure:
    """Return the table as a plotly figure."""
    return table_figure(time_text(data), palette)
