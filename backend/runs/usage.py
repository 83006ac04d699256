"""Compute hours that attempts have used, and their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, case, cast, extract, func, select
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, aggregate_order_by
from sqlalchemy.orm import InstrumentedAttribute, Session

from backend.kit.prices import SECONDS_PER_HOUR, Prices, cost
from backend.models import Attempt

_seconds = cast(extract("epoch", func.coalesce(Attempt.ended_at, func.now()) - Attempt.claimed_at), DOUBLE_PRECISION)
# See `backend.kit.prices.compute_hours`.
_hours = _seconds / SECONDS_PER_HOUR * func.greatest(Attempt.num_gpus, 1)


class Usage(NamedTuple):
    """Compute used by a run."""

    gpu_hours: float = 0.0
    slot_hours: float = 0.0
    """Of attempts on the CPU."""
    num_gpus: int = 0
    """Of the newest attempt."""

    @property
    def compute_hours(self) -> float:
        """Both kinds together."""
        return self.gpu_hours + self.slot_hours

    def cost(self, prices: Prices) -> float | None:
        """Price of all hours; None where some of them have none."""
        parts = [
            cost(hours, num_gpus, prices) for hours, num_gpus in ((self.gpu_hours, 1), (self.slot_hours, 0)) if hours
        ]
        known = [part for part in parts if part is not None]
        return sum(known) if known and len(known) == len(parts) else None


def usage_of(session: Session, run_ids: Sequence[str]) -> Mapping[str, Usage]:
    """Compute used by each run; runs that no worker took are left out."""
    on_gpus = case((Attempt.num_gpus > 0, _hours), else_=0.0)
    on_cpu = case((Attempt.num_gpus == 0, _hours), else_=0.0)
    newest = func.array_agg(aggregate_order_by(Attempt.num_gpus, Attempt.number.desc()))
    query = (
        select(Attempt.run_id, func.sum(on_gpus), func.sum(on_cpu), newest)
        .where(Attempt.run_id.in_(run_ids), Attempt.claimed_at.is_not(None))
        .group_by(Attempt.run_id)
    )
    return {run_id: Usage(gpu, cpu, num_gpus[0]) for run_id, gpu, cpu, num_gpus in session.execute(query)}


def hours_of(run_id: InstrumentedAttribute[str]) -> ColumnElement[float]:
    """Compute hours of a run of an outer query; NULL where no worker has taken it."""
    query = select(func.sum(_hours)).where(Attempt.run_id == run_id, Attempt.claimed_at.is_not(None))
    return query.scalar_subquery()
