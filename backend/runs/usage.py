"""Compute hours that attempts have used, and their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, cast, extract, func, select
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION
from sqlalchemy.orm import InstrumentedAttribute, Session

from backend.models import Attempt, Worker
from backend.prices.hours import SECONDS_PER_HOUR, Machine, Prices, Use, compute_hours

_seconds = cast(extract("epoch", func.coalesce(Attempt.ended_at, func.now()) - Attempt.claimed_at), DOUBLE_PRECISION)
# See `backend.prices.hours.compute_hours`.
_hours = _seconds / SECONDS_PER_HOUR * func.greatest(Attempt.num_gpus, 1)


class Usage(NamedTuple):
    """Compute used by a run."""

    uses: Sequence[Use] = ()
    """By attempt."""

    @property
    def num_gpus(self) -> int:
        """Number of GPUs of the newest attempt."""
        return self.machine.num_gpus

    @property
    def machine(self) -> Machine:
        """Machine of the newest attempt."""
        return self.uses[-1].machine if self.uses else Machine()

    @property
    def compute_hours(self) -> float:
        """GPU-hours and slot-hours together."""
        return sum(compute_hours((use.end - use.begin).total_seconds(), use.machine.num_gpus) for use in self.uses)

    def cost(self, prices: Prices) -> float | None:
        """Return the price of all hours; `None` if some of them have none."""
        costs = [prices.cost(use) for use in self.uses]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known and len(known) == len(costs) else None


class PlannedCost(NamedTuple):
    """Cost of further time on the machine of a run, at current prices."""

    compute_hours: float | None
    cost: float | None
    unpriced: str | None
    """Why there is no cost."""


def planned_cost(seconds: float | None, usage: Usage, prices: Prices, now: datetime) -> PlannedCost:
    """Return the cost of so many seconds on the machine of the run's newest attempt; never 0 for want of a price."""
    if seconds is None:
        return PlannedCost(None, None, "how long the planned run takes is not known")
    if not usage.uses:
        return PlannedCost(None, None, "no worker ran it here, so that its machine has no price")
    machine = usage.machine
    hours = compute_hours(seconds, machine.num_gpus)
    price = prices.at(now, machine)
    if price is None:
        unpriced = f"no price is set for {machine.worker or 'its worker'}: an administrator sets one on the page Prices"
        return PlannedCost(hours, None, unpriced)
    return PlannedCost(hours, hours * price, None)


def usage_of(session: Session, run_ids: Sequence[str]) -> Mapping[str, Usage]:
    """Compute used by each run; runs that no worker took are left out."""
    query = (
        select(
            *(Attempt.run_id, Attempt.num_gpus, Attempt.gpu_name, Worker.name),
            *(Attempt.claimed_at, func.coalesce(Attempt.ended_at, func.now())),
        )
        .join(Worker, Worker.id == Attempt.worker_id, isouter=True)
        .where(Attempt.run_id.in_(run_ids), Attempt.claimed_at.is_not(None))
        .order_by(Attempt.run_id, Attempt.number)
    )
    found: dict[str, list[Use]] = {}
    for run_id, num_gpus, gpu_name, worker, begin, end in session.execute(query):
        assert begin is not None, "claimed"
        found.setdefault(run_id, []).append(Use(Machine(num_gpus, gpu_name, worker), begin, end))
    return {run_id: Usage(uses) for run_id, uses in found.items()}


def hours_of(run_id: InstrumentedAttribute[str]) -> ColumnElement[float]:
    """Compute hours of a run of an outer query; NULL where no worker has taken it."""
    query = select(func.sum(_hours)).where(Attempt.run_id == run_id, Attempt.claimed_at.is_not(None))
    return query.scalar_subquery()
