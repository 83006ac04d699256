"""Savings of each method against the first group until it reached the same accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bapo.analysis.number_format import percent
from bapo.analysis.result import Savings
from bapo.analysis.savings import Expense, savings
from bapo.analysis.savings_text import saved_share
from bapo.config.method import is_trainable
from bapo.figures import formatting
from bapo.figures.groups import Group
from bapo.figures.recorded import STEP_SECONDS, RecordedRun
from bapo.figures.tables import Cell, Column, TextTable
from bapo.figures.time_table import SECONDS_PER_HOUR, compute_hours_of


class SavingsRow(NamedTuple):
    """One method."""

    label: str
    num_reached: int
    num_runs: int
    hours: float | None
    """Mean over the runs that reached the accuracy."""
    cost: float | None
    saved: Savings | None
    """Saving of cost if all runs have one, else of hours; None for the baseline, and if nothing can be said."""


class SavingsData(NamedTuple):
    """All methods at one accuracy."""

    rows: Sequence[SavingsRow]
    baseline: str
    dataset: str
    target: float
    """avg@k to reach."""
    currency: str
    """Currency of the cost; empty without prices."""


class _Reach(NamedTuple):
    """Expense of a run until it reached the accuracy, or in all."""

    hours: float | None
    cost: float | None
    has_reached: bool


def savings_data(groups: Sequence[Group]) -> SavingsData | None:
    """Return savings against the first group at its mean final accuracy; None without a second group or evaluations."""
    dataset = _widest_set([run for group in groups for run in group.runs])
    if len(groups) < 2 or dataset is None:
        return None
    # A run that was evaluated on another set says nothing of what this one takes.
    known = [[run for run in group.runs if not run.evaluations or _accuracies(run, dataset)] for group in groups]
    groups = [group._replace(runs=runs) for group, runs in zip(groups, known, strict=True) if runs]
    if len(groups) < 2:
        return None
    finals = [found[-1] for run in groups[0].runs if (found := _accuracies(run, dataset))]
    if not finals:
        return None
    target = math.floor(100 * float(np.mean([accuracy for _, accuracy in finals])) + 1e-9) / 100
    reached = [[_reach(run, dataset, target) for run in group.runs] for group in groups]
    priced = [run.currency for group in groups for run in group.runs if run.cost is not None]
    rows = [
        SavingsRow(
            group.label,
            sum(each.has_reached for each in found),
            len(found),
            _mean([each.hours for each in found if each.has_reached]),
            _mean([each.cost for each in found if each.has_reached]),
            None if index == 0 else _saved(group, found, groups[0], reached[0]),
        )
        for index, (group, found) in enumerate(zip(groups, reached, strict=True))
    ]
    return SavingsData(rows, groups[0].label, dataset, target, priced[0] if priced else "")


def _widest_set(runs: Sequence[RecordedRun]) -> str | None:
    """Return the set that most runs know, CD-34 before CD-4."""
    known = [{record.dataset for record in run.evaluations} for run in runs]
    names = set().union(*known)
    return min(names, key=lambda name: (-sum(name in each for each in known), -len(name), name), default=None)


def _accuracies(run: RecordedRun, dataset: str) -> list[tuple[int, float]]:
    return [(record.step, record.avg_at_k.value) for record in run.evaluations if record.dataset == dataset]


def _reach(run: RecordedRun, dataset: str, target: float) -> _Reach:
    step = next((step for step, accuracy in _accuracies(run, dataset) if accuracy >= target), None)
    seconds = run.column(STEP_SECONDS)
    if run.num_left_out or np.isnan(seconds).all() or not is_trainable(run.config["method"]["type"]):
        return _Reach(None, None, step is not None)
    until = run.step_numbers <= (math.inf if step is None else step)
    hours = float(np.nansum(seconds[until])) / SECONDS_PER_HOUR * max(1, run.num_gpus)
    all_hours = compute_hours_of(run)
    cost = None if run.cost is None or not all_hours else hours * run.cost / all_hours
    return _Reach(hours, cost, step is not None)


def _saved(ours: Group, reached: Sequence[_Reach], baseline: Group, theirs: Sequence[_Reach]) -> Savings | None:
    sides = ((ours, reached), (baseline, theirs))
    costs = [_expenses(group, found, [each.cost for each in found]) for group, found in sides]
    hours = [_expenses(group, found, [each.hours for each in found]) for group, found in sides]
    for mine, other in (costs, hours):
        if mine is not None and other is not None:
            return savings(mine, other)
    return None


def _expenses(group: Group, found: Sequence[_Reach], spent: Sequence[float | None]) -> list[Expense] | None:
    known = [
        Expense(run.seed, value, each.has_reached)
        for run, each, value in zip(group.runs, found, spent, strict=True)
        if value is not None
    ]
    return known if len(known) == len(found) else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def savings_table(data: SavingsData) -> TextTable:
    """Format the table."""
    columns = [
        Column("method", align="left"),
        Column(f"reached {percent(data.target, 0)} on {data.dataset}"),
        Column("compute hours"),
        *([Column(f"cost, {data.currency}")] if data.currency else []),
        Column(f"saved against {data.baseline}"),
    ]
    rows = [
        [
            Cell(row.label),
            Cell(f"{row.num_reached} of {row.num_runs}" if row.num_reached else "not reached"),
            Cell(formatting.hours(row.hours)),
            *([Cell(formatting.decimal(row.cost, 2))] if data.currency else []),
            Cell(_saved_text(row, data)),
        ]
        for row in data.rows
    ]
    return TextTable(columns, rows)


def _saved_text(row: SavingsRow, data: SavingsData) -> str:
    if row.label == data.baseline:
        return "baseline"
    text = saved_share(row.saved) or formatting.MISSING
    is_single = row.saved is not None and row.saved.low is None and not row.saved.is_least
    return f"{text}, no interval" if is_single else text
