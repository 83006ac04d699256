"""Exports the run list as a table for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backend.kit.exports import csv_lines
from bapo.api.runs import RunSummary

COLUMNS = (
    *("id", "name", "status", "status_reason", "method", "recipe", "group", "tags", "owner", "project", "parent_id"),
    *("created_at", "started_at", "finished_at", "step", "num_steps", "attempt", "num_rollouts", "reward_mean"),
    *("eval_name", "eval_num_problems", "eval_problems", "eval_base", "eval_latest", "eval_best", "eval_best_step"),
    *("num_gpus", "compute_hours", "cost", "currency", "is_starred", "archived_at"),
    *("num_findings", "gravest_finding"),
)


def header(recorded: Sequence[str]) -> str:
    """Return the line of column names; config fields and metrics last."""
    return csv_lines([[*COLUMNS, *recorded]])


def lines(runs: Sequence[RunSummary], recorded: Sequence[str]) -> str:
    """Return one line for each run; shares are plain numbers, times ISO 8601 in UTC."""
    built_in = ([getattr(run, column) for column in COLUMNS] for run in runs)
    values = ([run.values.get(column) for column in recorded] for run in runs)
    return csv_lines([[*one, *other] for one, other in zip(built_in, values, strict=True)])


def batches(run_ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Yield the runs, so many at a time."""
    for begin in range(0, len(run_ids), size):
        yield run_ids[begin : begin + size]
