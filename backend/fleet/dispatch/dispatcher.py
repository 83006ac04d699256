"""Assigns queued runs to free workers and gives up attempts whose lease expired. One server at a time does this."""

from __future__ import annotations

import logging
import time
from datetime import datetime

from sqlalchemy.orm import Session

from backend.fleet.dispatch import lost_attempts
from backend.fleet.dispatch.broker import Broker
from backend.fleet.queue import placements
from backend.fleet.queue.matching import Capacity
from backend.fleet.queue.repository import lock_waiting
from backend.identity.audit.repository import add_audit
from backend.kit import events, idempotency, instruments
from backend.kit.database import Database, clock
from backend.kit.leadership import LeaderThread
from backend.models import Attempt, Run
from backend.runs import lifecycle
from backend.runs import repository as runs
from backend.settings.environment import Settings
from backend.workers import repository
from bapo.config.resources import Needs


class ClockWatch:
    """Compares the database's clock, which may be set, with a monotonic one."""

    def __init__(self, tolerance_seconds: float, longest_round_seconds: float) -> None:
        self._tolerance = tolerance_seconds
        self._longest_round = max(tolerance_seconds, longest_round_seconds)
        self._last: tuple[float, float] | None = None

    def is_broken(self, now: datetime, monotonic: float | None = None) -> bool:
        """Return whether, since the last look, the clock was set by more than the tolerance or we were away.

        Away is a server that was suspended or waited for its database: no heartbeat could reach it. A busy round is no
        absence, or short leases would never end.
        """
        seen = (now.timestamp(), time.monotonic() if monotonic is None else monotonic)
        last, self._last = self._last, seen
        if last is None:
            return False
        passed, really_passed = seen[0] - last[0], seen[1] - last[1]
        return abs(passed - really_passed) > self._tolerance or really_passed > self._longest_round


LOG = logging.getLogger(__name__)

DISPATCH_LOCK = 0x6261706F03
"""Advisory lock of the one dispatcher."""
INTERVAL_SECONDS = 1.0
LONGEST_ROUND_SECONDS = 5.0
"""Between two looks of a server that is busy, and no longer there after that."""
PRUNE_INTERVAL_SECONDS = 600.0


class Dispatcher(LeaderThread):
    """Looks once a second, and at once when it is woken."""

    # Runs must not wait for the sake of requests: a round takes milliseconds.
    busy_share = 1.0

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__("dispatcher", database, DISPATCH_LOCK, INTERVAL_SECONDS)
        self._settings = settings
        self.broker = Broker(settings.broker_url)
        self._fresh_seconds = settings.fresh_seconds
        self._pruned_at = time.monotonic()
        self._clock = ClockWatch(settings.lease_seconds / 2, LONGEST_ROUND_SECONDS)
        self._round_began: float | None = None

    def seconds_in_round(self) -> float | None:
        """Return the seconds since the present round began; None between rounds, and while another server is the
        dispatcher."""
        began = self._round_began
        return None if began is None else time.monotonic() - began

    def end(self) -> None:
        """Stop, and wait until it has stopped."""
        super().end()
        self.broker.close()

    def begin_leading(self) -> None:
        """Renew all leases: no process may have extended them meanwhile."""
        instruments.DISPATCHER_LEADER.set(1)
        with self._database.session() as session, session.begin():
            self._begin_anew(session)

    def end_leading(self) -> None:
        """Say so in the metrics."""
        instruments.DISPATCHER_LEADER.set(0)

    def work(self) -> None:
        """Run one round, timed."""
        self._round_began = began = time.monotonic()
        result = "failed"
        try:
            self._round()
            result = "ok"
        finally:
            self._round_began = None
            instruments.DISPATCHER_ROUNDS.labels(result).inc()
            instruments.DISPATCHER_SECONDS.observe(time.monotonic() - began)

    def _begin_anew(self, session: Session) -> None:
        """Renew all leases: earlier times of the database's clock cannot be compared with later ones."""
        repository.begin_all_leases_anew(session, self._settings.lease_seconds)
        repository.end_all_pauses(session)

    def _round(self) -> None:
        with self._database.session() as session, session.begin():
            if self._clock.is_broken(clock(session)):
                LOG.warning("the clock jumped, or the server was suspended: all leases are renewed")
                self._begin_anew(session)
            repository.withdraw_from_stale_workers(session, self._fresh_seconds)
            expired = repository.expired(session)
        for run_id, number in expired:
            self._lose(run_id, number)
        with self._database.session() as session, session.begin():
            self._assign(session)
        with self._database.session() as session:
            messages = repository.unsent_to_queues(session)
        for message in messages:
            if not self.broker.send(message.run_id, message.queue):
                break
            with self._database.session() as session, session.begin():
                repository.mark_sent(session, message)
        if time.monotonic() - self._pruned_at > PRUNE_INTERVAL_SECONDS:
            self._pruned_at = time.monotonic()
            with self._database.session() as session, session.begin():
                events.prune(session, self._settings.stream_retention_seconds)
                idempotency.prune(session)

    def _lose(self, run_id: str, number: int) -> None:
        with self._database.session() as session, session.begin():
            run = runs.lock(session, run_id)
            attempt = session.get(Attempt, (run_id, number), populate_existing=True)
            # Looked at again under the lock: a heartbeat may have come meanwhile.
            if attempt is None or attempt.state == "ended" or not repository.is_expired(session, attempt):
                return
            seconds = self._settings.lease_seconds
            who = "its worker sent no heartbeat" if attempt.worker_id else "nothing was heard of its trainer"
            lost_attempts.lose(session, run, attempt, f"{who} for {seconds:g} s", self._settings)
        instruments.RUNS_LOST.inc()
        LOG.warning("run lost", extra={"run_id": run_id, "attempt": number})

    def _assign(self, session: Session) -> None:
        machines = repository.machines(session, self._fresh_seconds)
        num_connected = repository.num_connected(session, self._fresh_seconds)
        given: dict[str, Capacity] = {}
        reasons: dict[str, str] = {}
        needs: dict[str, Needs] = {}
        for run, placement in placements.placements(session, self._settings, machines, num_connected):
            if placement.capacity is not None:
                given[run.id], needs[run.id] = placement.capacity, run.needs
            elif placement.reason is not None and placement.reason != run.reason:
                reasons[run.id] = placement.reason
        if not given and not reasons:
            return
        for locked in lock_waiting(session, [*given, *reasons]):
            if locked.id in given:
                self._promise(session, locked, given[locked.id], needs[locked.id])
            else:
                locked.status_reason = reasons[locked.id]
                events.announce_status(session, locked)

    def _promise(self, session: Session, run: Run, capacity: Capacity, needs: Needs) -> None:
        session.add(
            Attempt(
                run_id=run.id,
                number=run.attempt + 1,
                worker_id=capacity.machine.id,
                state="assigned",
                gpus=list(capacity.gpus),
                num_gpus=len(capacity.gpus) + needs.cluster_gpus,
                memory_gib=needs.memory_gib,
            )
        )
        add_audit(session, run.id, lifecycle.SYSTEM, "assigned", {"attempt": run.attempt + 1})
        events.announce_assignment(session, capacity.machine.id)
