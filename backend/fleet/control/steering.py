"""Stores requests to the trainer of an active run; validates and withdraws parameter changes."""

from __future__ import annotations

import uuid
from typing import Any

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.kit.errors import Problem, not_found
from backend.kit.events import announce_status
from backend.kit.principal import Principal
from backend.models import Control, Run
from backend.runs import repository, states
from backend.runs.access import require
from bapo.api.runs import ParameterChange
from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.config.method import steerable_fields
from bapo.run.control import StopMoment, changed_config


def add_control(
    session: Session,
    run: Run,
    kind: str,
    caller: Principal,
    changes: dict[str, Any],
    at_step: int | None,
    moment: StopMoment | None = None,
) -> Control:
    """Store a stop, a pause or a change; the run's worker hands it on with its next heartbeat."""
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
    add_audit(session, run.id, caller.name, kind, detail)
    announce_status(session, run)
    return control


def change_parameters(session: Session, run: Run, change: ParameterChange, caller: Principal) -> Control:
    """Ask for new values. Raises ConfigError where they would not be legal, Problem where it is too late."""
    require(run, "change")
    config = RunConfig.model_validate(run.config)
    known = steerable_fields(run.method)
    unknown = [field for field in change.set if field not in known]
    if unknown:
        remedy = f"cannot change while a {run.method} run is active: only {', '.join(known)} can"
        raise ConfigError([ConfigProblem(field, change.set[field], remedy) for field in unknown])
    if change.at_step is not None and not run.step < change.at_step <= (run.num_steps or change.at_step):
        remedy = f"give a step after {run.step}, the last completed step, up to {run.num_steps}"
        raise Problem(422, "step_passed", remedy, field="at_step", value=change.at_step)
    earlier: dict[str, Any] = {}
    for control in repository.open_changes(session, run.id):
        earlier |= control.changes
    changed_config(config, earlier | change.set)
    return add_control(session, run, "change", caller, change.set, change.at_step)


def withdraw(session: Session, run: Run, control_id: str, caller: Principal) -> Control:
    """Take back a change that waits. Raises Problem 404 for an unknown one, 409 where the trainer has answered it.

    Where a worker holds the run, its trainer says whether it was in time.
    """
    control = session.get(Control, (run.id, control_id))
    if control is None or control.kind != "change":
        raise not_found("change", control_id)
    if control.state != "pending":
        remedy = f"this change is {control.state} already: request the former values instead"
        raise Problem(409, "already_answered", remedy, field="control_id", value=control_id)
    if control.withdrawn_by is None:
        control.withdrawn_by = caller.name
        add_audit(session, run.id, caller.name, "withdrawn", {"control_id": control.id})
    if run.status not in states.ACTIVE:
        control.state = "withdrawn"
    announce_status(session, run)
    return control
