"""What people do to a run: start, stop, pause, resume, retry, hold, change parameters, edit, delete."""

from __future__ import annotations

import uuid
from typing import Any

from sqlalchemy.orm import Session

from backend.auth.service import Principal
from backend.checkpoints import service as checkpoints
from backend.errors import Problem, not_found
from backend.events.repository import announce_status
from backend.models import Control, Run
from backend.runs import lifecycle, presentation, repository, states
from backend.storage import deletion
from bapo.api import ParameterChange, RunStatus, RunUpdate
from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.control import StopMoment, changed_config


def lock_own(session: Session, run_id: str, caller: Principal) -> Run:
    """Lock a run that this caller may change. Raises Problem 404 and 403."""
    run = repository.lock(session, run_id)
    if not caller.may_change(run):
        raise Problem(
            403,
            "not_your_run",
            "only its owner and administrators change a run: clone it instead",
            field="id",
            value=run_id,
        )
    return run


def start(session: Session, run: Run, caller: Principal) -> None:
    """Queue a draft."""
    _require(run, "start")
    run.archived_at = None
    lifecycle.move(session, run, RunStatus.QUEUED, author=caller.name)


def resume(session: Session, run: Run, caller: Principal) -> None:
    """Queue a paused run again."""
    _require(run, "resume")
    # Somebody has looked at it: the count of fruitless attempts begins anew.
    run.num_attempts_without_progress = 0
    run.archived_at = None
    lifecycle.move(session, run, RunStatus.QUEUED, author=caller.name)


def retry(session: Session, run: Run, caller: Principal) -> None:
    """Queue a failed run again, from its last checkpoint."""
    _require(run, "retry")
    run.num_attempts_without_progress = 0
    run.archived_at = None
    lifecycle.move(session, run, RunStatus.QUEUED, author=caller.name)


def hold(session: Session, run: Run, caller: Principal) -> None:
    """Keep a waiting run from starting. Again does nothing more."""
    if run.held_at is not None:
        return
    _require(run, "hold")
    # Whoever was promised it and comes to claim it is refused.
    promised = repository.assigned_attempt(session, run)
    if promised is not None:
        session.delete(promised)
    run.held_at, run.held_by = repository.clock(session), caller.name
    run.status_reason = f"held by {caller.name}"
    repository.add_audit(session, run.id, caller.name, "held", {})
    announce_status(session, run)


def release(session: Session, run: Run, caller: Principal) -> None:
    """Let a held run start. Of a run that is not held, nothing changes."""
    _require(run, "release")
    if run.held_at is None:
        return
    run.held_at = run.held_by = run.status_reason = None
    repository.add_audit(session, run.id, caller.name, "released", {})
    announce_status(session, run)


def set_priority(session: Session, run: Run, priority: int, caller: Principal) -> None:
    """A place that an administrator gave it was one among runs of the old priority."""
    if run.priority == priority:
        return
    if states.is_terminal(run.status):
        raise Problem(
            409,
            "illegal_transition",
            f"a {run.status.value} run waits for nothing: its priority does not matter any more",
            field="priority",
            value=priority,
        )
    before, run.priority, run.queue_place = run.priority, priority, None
    repository.add_audit(session, run.id, caller.name, "priority", {"from": before, "to": priority})
    announce_status(session, run)


_URGENCY: tuple[StopMoment, ...] = ("checkpoint", "step", "now")
"""From the most patient to the least."""


def stop(session: Session, run: Run, caller: Principal, when: StopMoment = "step") -> None:
    """End the run: at once where nothing trains, else when the request says.

    Of a run that stops already only a more urgent moment asks for something; all else does nothing more.
    """
    _require(run, "stop")
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
    _require(run, "pause")
    _ask_to_end(session, run, "pause", caller, when)


def _ask_to_end(session: Session, run: Run, kind: str, caller: Principal, when: StopMoment) -> None:
    ending = RunStatus.STOPPING if kind == "stop" else RunStatus.PAUSING
    before = stopping_when(session, run)
    is_sooner = before is None or _URGENCY.index(when) > _URGENCY.index(before)
    if is_sooner or run.status is not ending:
        _add_control(session, run, kind, caller, {}, None, when if is_sooner else before)
    if run.status is not ending:
        lifecycle.move(session, run, ending, author=caller.name)


def stopping_when(session: Session, run: Run) -> StopMoment | None:
    """The most urgent moment of the stops and pauses without an answer."""
    if run.status not in (RunStatus.STOPPING, RunStatus.PAUSING):
        return None
    asked = {control.moment or "step" for control in repository.pending_stops(session, run.id)}
    return next((moment for moment in reversed(_URGENCY) if moment in asked), None)


def steps_lost(session: Session, run: Run) -> int:
    """Completed steps of a stopping run that no checkpoint will hold; 0 where its stop waits for one."""
    if stopping_when(session, run) != "now":
        return 0
    held = [checkpoint.step for checkpoint in checkpoints.kept(session, run) if checkpoint.step <= run.step]
    return run.step - max(held, default=0)


def change_parameters(session: Session, run: Run, change: ParameterChange, caller: Principal) -> Control:
    """Ask for new values. Raises ConfigError where they would not be legal, Problem where it is too late."""
    _require(run, "change")
    config = RunConfig.model_validate(run.config)
    known = presentation.changeable_fields(run.config)
    unknown = [field for field in change.set if field not in known]
    if unknown:
        remedy = f"cannot change while a {run.method} run goes on: only {', '.join(known)} can"
        raise ConfigError([ConfigProblem(field, change.set[field], remedy) for field in unknown])
    if change.at_step is not None and not run.step < change.at_step <= (run.num_steps or change.at_step):
        raise Problem(
            422,
            "step_passed",
            f"give a step after {run.step}, the last completed one, and up to {run.num_steps}",
            field="at_step",
            value=change.at_step,
        )
    earlier: dict[str, Any] = {}
    for control in repository.open_changes(session, run.id):
        earlier |= control.changes
    changed_config(config, earlier | change.set)
    return _add_control(session, run, "change", caller, change.set, change.at_step)


def withdraw(session: Session, run: Run, control_id: str, caller: Principal) -> Control:
    """Take back a change that waits. Raises Problem 404 for an unknown one, 409 where the trainer has answered it.

    Where a worker holds the run, its trainer says whether it was in time.
    """
    control = session.get(Control, (run.id, control_id))
    if control is None or control.kind != "change":
        raise not_found("change", control_id)
    if control.state != "pending":
        raise Problem(
            409,
            "already_answered",
            f"this change is {control.state} already: ask for the former values instead",
            field="control_id",
            value=control_id,
        )
    if control.withdrawn_by is None:
        control.withdrawn_by = caller.name
        repository.add_audit(session, run.id, caller.name, "withdrawn", {"control_id": control.id})
    if run.status not in states.ACTIVE:
        control.state = "withdrawn"
    announce_status(session, run)
    return control


def update(session: Session, run: Run, changes: RunUpdate, caller: Principal) -> None:
    """Name, tags, notes, priority, and whether the run is archived. Raises Problem 409 for one that cannot be."""
    if changes.archived is not None:
        archive(session, run, caller, is_archived=changes.archived)
    if changes.priority is not None:
        set_priority(session, run, changes.priority, caller)
    fields = {
        "name": (run.name, changes.name),
        # Each once, in the order given.
        "tags": (run.tags, None if changes.tags is None else list(dict.fromkeys(changes.tags))),
        "notes": (run.notes, changes.notes),
    }
    edited = {field: new for field, (old, new) in fields.items() if new is not None and new != old}
    if not edited:
        return
    # The audit trail need not repeat long notes.
    noted = {field: fields[field][0] if field != "notes" else "…" for field in edited}
    for field, value in edited.items():
        setattr(run, field, value)
    repository.add_audit(session, run.id, caller.name, "edited", {"before": noted})
    announce_status(session, run)


def archive(session: Session, run: Run, caller: Principal, *, is_archived: bool) -> None:
    """Put a run away, or take it out again. Raises Problem 409 where something will happen to it by itself."""
    if is_archived == (run.archived_at is not None):
        return
    if is_archived and run.status not in states.ARCHIVABLE:
        raise Problem(
            409,
            "illegal_transition",
            f"a {run.status.value} run cannot be archived: stop or pause it first",
            field="status",
            value=run.status.value,
        )
    run.archived_at = repository.clock(session) if is_archived else None
    repository.add_audit(session, run.id, caller.name, "archived" if is_archived else "unarchived", {})
    announce_status(session, run)


def delete(session: Session, run: Run, caller: Principal) -> None:
    """Delete a draft or an ended run with all that it has recorded, its downloads and its folder."""
    _require(run, "delete")
    deletion.delete_run(session, run, caller.name)


def _require(run: Run, action: states.Action) -> None:
    if action not in states.actions(run.status):
        possible = ", ".join(states.actions(run.status))
        raise Problem(
            409,
            "illegal_transition",
            f"a {run.status.value} run cannot do this ({action}): possible now is {possible}",
            field="status",
            value=run.status.value,
        )


def _add_control(
    session: Session,
    run: Run,
    kind: str,
    caller: Principal,
    changes: dict[str, Any],
    at_step: int | None,
    moment: StopMoment | None = None,
) -> Control:
    control = Control(
        run_id=run.id,
        id=uuid.uuid4().hex,
        kind=kind,
        author=caller.name,
        changes=changes,
        at_step=at_step,
        state="pending",
        moment=moment,
    )
    session.add(control)
    session.flush()
    detail = {"control_id": control.id, "set": changes, "at_step": at_step} if kind == "change" else {"when": moment}
    repository.add_audit(session, run.id, caller.name, kind, detail)
    announce_status(session, run)
    return control
