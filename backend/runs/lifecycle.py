"""Moves a run to another state: checked, dated, audited and announced. The run must be locked."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.kit.database import clock
from backend.kit.events import announce_status
from backend.kit.principal import SYSTEM_NAME
from backend.models import Attempt, Run
from backend.runs import repository, states
from backend.settings.environment import Settings
from bapo.api.runs import RunStatus
from bapo.run.control import StopMoment

SYSTEM = SYSTEM_NAME
"""Author of automatic actions."""


URGENCY: tuple[StopMoment, ...] = ("checkpoint", "step", "now")
"""From the most patient to the least."""


def begin(session: Session, run: Run, action: str, *, author: str, detail: dict[str, Any], start: bool) -> None:
    """Note how a run came about, and queue it or announce the draft."""
    add_audit(session, run.id, author, action, detail)
    if start:
        move(session, run, RunStatus.QUEUED, author=author)
    else:
        announce_status(session, run)


def move(
    session: Session,
    run: Run,
    status: RunStatus,
    *,
    author: str,
    reason: str | None = None,
    detail: dict[str, Any] | None = None,
) -> None:
    """Change the state. Raises IllegalMoveError."""
    states.check_move(run.status, status)
    before, run.status, run.status_reason = run.status, status, reason
    now = clock(session)
    # A run that its machine gave back keeps its place.
    if status is RunStatus.QUEUED and before in (RunStatus.DRAFT, RunStatus.PAUSED, RunStatus.FAILED):
        run.queued_at = run.queue_order = now
        run.queue_place = run.not_before = run.retry_reason = run.finished_at = None
    if before is RunStatus.QUEUED:
        run.queue_place = run.not_before = run.held_at = run.held_by = None
    if status is RunStatus.STARTING and run.started_at is None:
        run.started_at = now
    if states.is_terminal(status):
        run.finished_at = now
    entry = {"from": before.value, "to": status.value, "attempt": run.attempt, **(detail or {})}
    add_audit(session, run.id, author, "status", entry | ({"reason": reason} if reason else {}))
    announce_status(session, run, before)


def end_attempt(session: Session, attempt: Attempt, outcome: str, reason: str | None) -> None:
    """End the attempt, so that its lease no longer counts."""
    attempt.state = "ended"
    attempt.outcome = outcome
    attempt.reason = reason
    attempt.ended_at = clock(session)
    attempt.lease_expires_at = None


def close_controls(session: Session, run: Run, reason: str) -> None:
    """Refuse what was not answered before a run ended for good."""
    for control in repository.pending_controls(session, [run.id]):
        control.state = "refused"
        control.reason = reason


def settle_stops(session: Session, run: Run) -> None:
    """Settle the stops and pauses of a run that has stopped."""
    for control in repository.pending_stops(session, run.id):
        control.state = "applied"
        control.applied_step = run.step


def max_retries(run: Run, settings: Settings) -> int:
    """Return the maximum number of retries in a row without a further step."""
    return settings.max_attempts_without_progress - 1 if run.max_retries is None else run.max_retries


def stopping_when(session: Session, run: Run) -> StopMoment | None:
    """Return the most urgent moment of the stops and pauses without an answer."""
    if run.status not in (RunStatus.STOPPING, RunStatus.PAUSING):
        return None
    asked = {control.moment or "step" for control in repository.pending_stops(session, run.id)}
    return next((moment for moment in reversed(URGENCY) if moment in asked), None)
