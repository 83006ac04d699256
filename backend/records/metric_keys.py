"""Tracks which metrics a run has, and the newest value of each."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence

import orjson
from sqlalchemy import String, func, literal, select, text
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from backend.models import MetricKey

REMEMBERED_RUNS = 1_000


class _Remembered:
    """Keys that are known to be in the database; they are never taken out of it but with their run."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, frozenset[str]] = OrderedDict()

    def get(self, run_id: str) -> frozenset[str]:
        return self._keys.get(run_id, frozenset())

    def put(self, run_id: str, keys: frozenset[str]) -> None:
        self._keys[run_id] = keys
        self._keys.move_to_end(run_id)
        while len(self._keys) > REMEMBERED_RUNS:
            self._keys.popitem(last=False)


_REMEMBERED = _Remembered()


def add(session: Session, run_id: str, keys: Collection[str]) -> None:
    """Note names of metrics. Nearly every batch brings none that are new, and then costs no query."""
    if _REMEMBERED.get(run_id).issuperset(keys):
        return
    stored = frozenset(read(session, run_id))
    # Only what was there before: what is added now counts when it is committed.
    _REMEMBERED.put(run_id, stored)
    if new := sorted(set(keys) - stored):
        # One statement, not one per key.
        rows = select(literal(run_id), func.unnest(literal(new, ARRAY(String))))
        query = insert(MetricKey).from_select(["run_id", "key"], rows).on_conflict_do_nothing()
        session.execute(query)


def keep_latest(session: Session, run_id: str, latest: Mapping[str, float]) -> None:
    """Keep the newest values together with those of metrics that this batch lacks; leave out non-finite numbers."""
    values = {key: value for key, value in latest.items() if math.isfinite(value)}
    if values:
        session.execute(_KEEP_LATEST, {"run_id": run_id, "latest": orjson.dumps(values).decode()})


# As text: put together for each upload, it would cost more than it takes to run.
_KEEP_LATEST = text("""
    INSERT INTO run_metrics (run_id, latest) VALUES (:run_id, CAST(:latest AS jsonb))
    ON CONFLICT (run_id) DO UPDATE SET latest = run_metrics.latest || excluded.latest
""")


def read(session: Session, run_id: str) -> Sequence[str]:
    """Return the names of a run's metrics."""
    return session.scalars(select(MetricKey.key).where(MetricKey.run_id == run_id).order_by(MetricKey.key)).all()
