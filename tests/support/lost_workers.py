"""Make workers look lost in the database: a test does not wait for a lease to end."""

from __future__ import annotations

from backend.kit.database import Database, seconds_from_now
from backend.models import Attempt, Worker
from tests.support.fake_worker import FakeWorker


def expire(database: Database, run_id: str) -> None:
    """Let the lease of a run's attempt be over."""
    with database.session() as session, session.begin():
        for attempt in session.query(Attempt).filter(Attempt.run_id == run_id, Attempt.state != "ended"):
            attempt.lease_expires_at = attempt.assigned_at


def silence(database: Database, worker: FakeWorker) -> None:
    """Make the worker's last heartbeat a minute old."""
    with database.session() as session, session.begin():
        session.get_one(Worker, worker.id).last_seen_at = seconds_from_now(-60)
