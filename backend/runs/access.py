"""Checks who may change a run, and which actions its state allows."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.models import Attempt, Run
from backend.runs import repository, states
from bapo.config.method import is_trainable


def lock_own(session: Session, run_id: str, caller: Principal) -> Run:
    """Lock a run that this caller may change. Raises Problem 404 and 403."""
    run = repository.lock(session, run_id)
    if not caller.may_change(run):
        remedy = "only its owner and administrators may change a run: clone it instead"
        raise Problem(403, "not_your_run", remedy, field="id", value=run_id)
    return run


def require(run: Run, action: states.Action) -> None:
    """Raise Problem 409 naming the state, the action, and what is possible."""
    if action not in states.actions_of(run):
        if not is_trainable(run.method):
            remedy = f"this run is observed, and trained by another trainer, which takes no {action} from here"
            raise Problem(409, "not_trained_here", remedy, field="method", value=run.method)
        possible = ", ".join(states.actions(run.status))
        remedy = f"a {run.status.value} run does not allow {action}: possible actions are {possible}"
        raise Problem(409, "illegal_transition", remedy, field="status", value=run.status.value)


def require_out_of_trash(run: Run, field: str, value: str) -> None:
    """Raise Problem 409 if the request would match a run that is in the trash."""
    if run.trashed_at is not None:
        remedy = f"this was used for run {run.id}, which is in the trash: restore that run, or delete it for good first"
        raise Problem(409, "in_trash", remedy, field=field, value=value)


def current_attempt(session: Session, run: Run, fencing_token: int) -> Attempt:
    """Return the run's newest attempt, if that is its token. Raises Problem 409. The run must be locked."""
    attempt = repository.attempt(session, run)
    if attempt is None or attempt.fencing_token != fencing_token:
        remedy = "the run now belongs to another attempt: end this trainer"
        raise Problem(409, "stale_fencing_token", remedy, field="fencing_token", value=fencing_token)
    return attempt
