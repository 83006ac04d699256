"""Stops and pauses runs."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.fleet.control.requests import add_control
from backend.kit.principal import Principal
from backend.models import Run
from backend.runs import lifecycle, repository, states
from backend.runs.access import require
from backend.runs.checkpoints import service as checkpoints
from bapo.api.runs import RunStatus
from bapo.run.control import StopMoment


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
