"""Moves runs from state to state at a person's request, and sets the priority of those that wait."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.fleet.control.steering import add_control
from backend.identity.audit.repository import add_audit
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.events import announce_status
from backend.kit.principal import Principal
from backend.models import Run
from backend.runs import lifecycle, repository, states
from backend.runs.access import require
from backend.runs.checkpoints import service as checkpoints
from bapo.api.runs import RunStatus
from bapo.run.control import StopMoment


def start(session: Session, run: Run, caller: Principal) -> None:
    """Queue a draft."""
    _enqueue(session, run, "start", caller)


def resume(session: Session, run: Run, caller: Principal) -> None:
    """Queue a paused run again."""
    _enqueue(session, run, "resume", caller)


def retry(session: Session, run: Run, caller: Principal) -> None:
    """Queue a failed run again, from its last checkpoint."""
    _enqueue(session, run, "retry", caller)


def _enqueue(session: Session, run: Run, action: states.Action, caller: Principal) -> None:
    require(run, action)
    # A person has looked at the run.
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


def stop(session: Session, run: Run, caller: Principal, when: StopMoment = "step") -> None:
    """Stop the run: at once if nothing trains, else at the requested moment.

    Of a run that stops already only a more urgent moment asks for something; all else does nothing more.
    """
    require(run, "stop")
    if run.status in states.ACTIVE:
        _ask_to_end(session, run, "stop", caller, when)
        return
    promised = repository.assigned_attempt(session, run)
    if promised is not None:
        session.delete(promised)
    lifecycle.close_controls(session, run, "the run was cancelled first")
    lifecycle.move(session, run, RunStatus.CANCELLED, author=caller.name)


def pause(session: Session, run: Run, caller: Principal, when: StopMoment = "step") -> None:
    """Stop at a boundary, to be resumed later. Of a run that pauses already only a sooner one asks for something."""
    assert when != "now", "the API's own check"
    if run.status is RunStatus.PAUSED:
        return
    require(run, "pause")
    _ask_to_end(session, run, "pause", caller, when)


def _ask_to_end(session: Session, run: Run, kind: str, caller: Principal, when: StopMoment) -> None:
    ending = RunStatus.STOPPING if kind == "stop" else RunStatus.PAUSING
    before = lifecycle.stopping_when(session, run)
    is_sooner = before is None or lifecycle.URGENCY.index(when) > lifecycle.URGENCY.index(before)
    if is_sooner or run.status is not ending:
        add_control(session, run, kind, caller, {}, None, when if is_sooner else before)
    if run.status is not ending:
        lifecycle.move(session, run, ending, author=caller.name)


def steps_lost(session: Session, run: Run) -> int:
    """Return the completed steps of a stopping run that no checkpoint will hold; 0 if its stop waits for one."""
    if lifecycle.stopping_when(session, run) != "now":
        return 0
    held = [checkpoint.step for checkpoint in checkpoints.kept(session, run) if checkpoint.step <= run.step]
    return run.step - max(held, default=0)
