"""Attempts whose worker is silent or whose trainer is gone: given up, tried again, and taken back."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.models import Attempt, Run
from backend.runs import lifecycle
from backend.runs import repository as runs
from backend.settings import Settings
from bapo.api import RunStatus

LOST = "lost"


def lose(session: Session, run: Run, attempt: Attempt, reason: str, settings: Settings) -> None:
    """Give an attempt up. The run is queued again, unless it should stop anyway or never gets any further."""
    lifecycle.end_attempt(session, attempt, LOST, reason)
    should_stop, should_pause = run.status is RunStatus.STOPPING, run.status is RunStatus.PAUSING
    run.num_attempts_without_progress = 0 if run.step > attempt.first_step else run.num_attempts_without_progress + 1
    lifecycle.move(session, run, RunStatus.LOST, author=lifecycle.SYSTEM, reason=reason)
    if should_stop:
        lifecycle.settle_stops(session, run)
        lifecycle.close_controls(session, run, "the run was stopped first")
        lifecycle.move(session, run, RunStatus.CANCELLED, author=lifecycle.SYSTEM)
    elif should_pause:
        lifecycle.settle_stops(session, run)
        lifecycle.move(session, run, RunStatus.PAUSED, author=lifecycle.SYSTEM)
    elif run.num_attempts_without_progress >= settings.max_attempts_without_progress:
        lifecycle.close_controls(session, run, "the run ended first")
        given_up = f"lost {run.num_attempts_without_progress} times without a further step; at last: {reason}"
        lifecycle.move(session, run, RunStatus.FAILED, author=lifecycle.SYSTEM, reason=given_up)
    else:
        lifecycle.move(session, run, RunStatus.QUEUED, author=lifecycle.SYSTEM, reason=reason)


def take_back(session: Session, run: Run, attempt: Attempt) -> bool:
    """An attempt that was given up is heard of again: it goes on, if no other has begun. The run must be locked."""
    if attempt.outcome != LOST or run.status is not RunStatus.QUEUED or run.attempt != attempt.number:
        return False
    promised = runs.assigned_attempt(session, run)
    if promised is not None:
        session.delete(promised)
    attempt.state = "running"
    attempt.outcome = attempt.reason = attempt.ended_at = None
    run.num_attempts_without_progress = max(0, run.num_attempts_without_progress - 1)
    lifecycle.move(
        session, run, RunStatus.RUNNING, author=lifecycle.SYSTEM, reason=None, detail={"heard_of_again": True}
    )
    session.flush()
    return True
