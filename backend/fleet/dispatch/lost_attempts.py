"""Gives up lost attempts, retries their runs, and takes an attempt back when its worker returns."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.orm import Session

from backend.kit.database import clock
from backend.models import Attempt, Run
from backend.runs import lifecycle
from backend.runs import repository as runs
from backend.runs.lifecycle import max_retries
from backend.settings.environment import Settings
from backend.workers import repository
from bapo.api.runs import RunStatus

LOST = "lost"
FIRST_PAUSED_RETRY = 2
"""Number of failures in a row from which retries are delayed: an immediate retry is likely to fail as well."""
MOST_DOUBLINGS = 4


DISK_PAUSES = 6.0
"""Factor of all pauses after a full disk, which stays full until a person frees space."""


def pause_seconds(num_fruitless: int, settings: Settings, *, cannot_write: bool = False) -> float:
    """Delay before the next retry after this many failures in a row without a further step.

    The first time not at all, unless the disk took no more.
    """
    if cannot_write:
        return DISK_PAUSES * settings.retry_delay_seconds * 2.0 ** min(MOST_DOUBLINGS, max(0, num_fruitless - 1))
    if num_fruitless < FIRST_PAUSED_RETRY:
        return 0.0
    return settings.retry_delay_seconds * 2.0 ** min(MOST_DOUBLINGS, num_fruitless - FIRST_PAUSED_RETRY)


def lose(
    session: Session, run: Run, attempt: Attempt, reason: str, settings: Settings, *, cannot_write: bool = False
) -> None:
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
    elif run.num_attempts_without_progress > (most := max_retries(run, settings)) or most == 0:
        lifecycle.close_controls(session, run, "the run ended first")
        times = max(1, run.num_attempts_without_progress)
        given_up = f"lost {times} times without completing a step; last reason: {reason}" if most else reason
        lifecycle.move(session, run, RunStatus.FAILED, author=lifecycle.SYSTEM, reason=given_up)
    else:
        run.retry_reason = reason
        pause = timedelta(seconds=pause_seconds(run.num_attempts_without_progress, settings, cannot_write=cannot_write))
        run.not_before = clock(session) + pause if pause else None
        retry = {"retry": run.num_attempts_without_progress, "retries": most}
        lifecycle.move(session, run, RunStatus.QUEUED, author=lifecycle.SYSTEM, reason=reason, detail=retry)


def take_back(session: Session, run: Run, attempt: Attempt) -> bool:
    """Take back an attempt that was given up, if no other has begun. The run must be locked.

    What its worker was promised meanwhile is taken back; where another run got its GPUs already, it is gone for good.
    """
    if attempt.outcome != LOST or run.status is not RunStatus.QUEUED or run.attempt != attempt.number:
        return False
    if run.held_at is not None:
        return False
    assert attempt.worker_id is not None, "an imported attempt is never lost"
    repository.withdraw(session, attempt.worker_id)
    if repository.gpus_held_by_others(session, attempt) & set(attempt.gpus):
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
