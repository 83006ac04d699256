"""Starts, resumes, retries, holds and releases runs, and sets their priority."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.events import announce_status
from backend.kit.principal import Principal
from backend.models import Run
from backend.runs import lifecycle, repository, states
from backend.runs.access import require
from bapo.api.runs import RunStatus


def start(session: Session, run: Run, caller: Principal) -> None:
    """Queue a draft."""
    require(run, "start")
    run.archived_at = None
    lifecycle.move(session, run, RunStatus.QUEUED, author=caller.name)


def resume(session: Session, run: Run, caller: Principal) -> None:
    """Queue a paused run again."""
    require(run, "resume")
    # A person has looked at the run: reset the count of attempts without progress.
    run.num_attempts_without_progress = 0
    run.archived_at = None
    lifecycle.move(session, run, RunStatus.QUEUED, author=caller.name)


def retry(session: Session, run: Run, caller: Principal) -> None:
    """Queue a failed run again, from its last checkpoint."""
    require(run, "retry")
    run.num_attempts_without_progress = 0
    run.archived_at = None
    lifecycle.move(session, run, RunStatus.QUEUED, author=caller.name)


def hold(session: Session, run: Run, caller: Principal) -> None:
    """Keep a queued run from starting. Repeated calls change nothing."""
    if run.held_at is not None:
        return
    require(run, "hold")
    # A worker that was promised the run is refused when it claims it.
    promised = repository.assigned_attempt(session, run)
    if promised is not None:
        session.delete(promised)
    run.held_at, run.held_by = clock(session), caller.name
    run.status_reason = f"held by {caller.name}"
    add_audit(session, run.id, caller.name, "held", {})
    announce_status(session, run)


def release(session: Session, run: Run, caller: Principal) -> None:
    """Let a held run start. Of a run that is not held, nothing changes."""
    require(run, "release")
    if run.held_at is None:
        return
    run.held_at = run.held_by = run.status_reason = None
    add_audit(session, run.id, caller.name, "released", {})
    announce_status(session, run)


def set_priority(session: Session, run: Run, priority: int, caller: Principal) -> None:
    """Set a run's priority and clear the place that an administrator gave it among runs of the old priority."""
    if run.priority == priority:
        return
    if states.is_terminal(run.status):
        remedy = f"a {run.status.value} run is not waiting: its priority has no effect"
        raise Problem(409, "illegal_transition", remedy, field="priority", value=priority)
    before, run.priority, run.queue_place = run.priority, priority, None
    add_audit(session, run.id, caller.name, "priority", {"from": before, "to": priority})
    announce_status(session, run)
