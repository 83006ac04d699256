"""Cost of runs, in total and until they reached an accuracy."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import numpy as np

from backend.prices.hours import Machine, Prices, compute_hours
from backend.readings.compare.curves import Axes
from backend.readings.compare.outcomes import Accuracies
from backend.runs.usage import Usage
from bapo.api.compare import ReachedAccuracy, Spent


class Meter(NamedTuple):
    """Rates by which a run's compute is counted."""

    num_gpus: int | None
    """GPUs of its newest attempt; 0 on the CPU, `None` if another trainer's machines are unknown."""
    compute_hours: float | None
    """Compute hours of all its attempts; `None` if no worker took it (imported)."""
    cost: float | None
    hour_price: float | None
    """Average price of a compute hour over its attempts; `None` if unknown."""


def meter_of(usage: Usage | None, prices: Prices, now: datetime, *, is_ours: bool) -> Meter:
    """Return the rates of a run; `usage` is `None` if no worker took it, `is_ours` False for another trainer's run."""
    if usage is None:
        return Meter(0, None, None, prices.at(now, Machine())) if is_ours else Meter(None, None, None, None)
    hours, cost = usage.compute_hours, usage.cost(prices)
    return Meter(usage.num_gpus, hours, cost, None if cost is None or not hours else cost / hours)


def total(axes: Axes, meter: Meter) -> Spent:
    """Return all that a run used; the hours of an imported run are those of its training steps, on one slot."""
    spent = _spent(axes, len(axes.steps), meter)
    if meter.compute_hours is None:
        return spent
    return spent.model_copy(update={"compute_hours": meter.compute_hours, "cost": meter.cost})


def reached(accuracies: Accuracies | None, axes: Axes, meter: Meter, target: float) -> ReachedAccuracy:
    """Return the resources that the run used until its first evaluation with at least this accuracy.

    Hours are those of its training steps: evaluations cost as much as one wants to know.
    """
    if accuracies is None:
        return ReachedAccuracy(reached=False, accuracy=None, spent=None)
    places = np.nonzero(accuracies.values >= target)[0]
    if not len(places):
        tried = _spent(axes, len(axes.steps), meter)
        return ReachedAccuracy(reached=False, accuracy=float(accuracies.values.max()), spent=None, tried=tried)
    step = int(accuracies.steps[places[0]])
    num_steps = int(np.searchsorted(axes.steps, step, side="right"))
    spent = _spent(axes, num_steps, meter).model_copy(update={"step": step})
    return ReachedAccuracy(reached=True, accuracy=float(accuracies.values[places[0]]), spent=spent)


def _spent(axes: Axes, num_steps: int, meter: Meter) -> Spent:
    last = num_steps - 1
    seconds = float(axes.seconds[last]) if num_steps else 0.0
    hours = None if meter.num_gpus is None else compute_hours(seconds, meter.num_gpus)
    return Spent(
        step=int(axes.steps[last]) if num_steps else 0,
        rollouts=float(axes.rollouts[last]) if num_steps else 0,
        seconds=seconds,
        compute_hours=hours,
        cost=None if hours is None or meter.hour_price is None else hours * meter.hour_price,
    )
