"""Renders runs as the API returns them."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from backend.kit.permissions import GRANTED, Permission
from backend.kit.prices import Prices
from backend.kit.principal import Principal
from backend.kit.settings import Settings
from backend.models import AuditRow, Control, Run
from backend.runs import lifecycle, repository, states
from backend.runs.repository import RunRow
from bapo.api.runs import AuditEntry, ControlInfo, RunDetail, RunStatus, RunSummary
from bapo.config.method import steerable_fields
from bapo.run.control import StopMoment


def eta_seconds(run: Run) -> float | None:
    """Time until the last step at the run's present pace; None where nothing trains or no pace is known."""
    is_training = run.status in (RunStatus.RUNNING, RunStatus.STARTING)
    return (run.num_steps - run.step) * run.step_seconds if is_training and run.step_seconds is not None else None


NOTES_START_CHARACTERS = 200
"""As much of the notes as a list shows."""


def summary_fields(row: RunRow, prices: Prices) -> dict[str, Any]:
    """The fields of a `RunSummary`."""
    run = row.run
    return {
        "id": run.id,
        "name": run.name,
        "status": run.status,
        "method": run.method,
        "recipe": run.recipe,
        "step": run.step,
        "num_steps": run.num_steps,
        "attempt": run.attempt,
        "tags": run.tags,
        "group": row.group,
        "owner": row.owner,
        "parent_id": run.parent_id,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "num_rollouts": run.num_rollouts,
        "reward_mean": run.reward_mean,
        "eval_name": run.eval_name,
        "eval_base": run.eval_base,
        "eval_latest": run.eval_latest,
        "eta_seconds": eta_seconds(run),
        "status_reason": run.status_reason,
        "eval_best": run.eval_best,
        "eval_best_step": run.eval_best_step,
        "num_gpus": row.usage.num_gpus,
        "compute_hours": row.usage.compute_hours,
        "cost": row.usage.cost(prices),
        "currency": prices.currency,
        "notes_start": run.notes[:NOTES_START_CHARACTERS],
        "is_starred": row.is_starred,
        "archived_at": run.archived_at,
        "project": row.project,
        "storage_bytes": row.storage_bytes,
    }


def summary(row: RunRow, prices: Prices) -> RunSummary:
    """A row of the list."""
    return RunSummary(**summary_fields(row, prices))


class Surroundings(NamedTuple):
    """Facts about a run from other tables."""

    worker: str | None = None
    parent_name: str | None = None
    stopping_when: StopMoment | None = None
    study_id: str | None = None


def detail(row: RunRow, around: Surroundings, caller: Principal, settings: Settings) -> RunDetail:
    """One run for this caller."""
    run = row.run
    may_edit = caller.may_change(run)
    return RunDetail(
        **summary_fields(row, settings.prices),
        config=run.config,
        explicit=run.explicit,
        diff=run.diff,
        notes=run.notes,
        priority=run.priority,
        worker=around.worker,
        held_by=run.held_by,
        num_retries=run.num_attempts_without_progress,
        max_retries=lifecycle.max_retries(run, settings),
        retry_reason=run.retry_reason,
        allowed_actions=allowed_actions(row, caller),
        may_edit=may_edit,
        may_archive=may_edit and (run.archived_at is not None or run.status in states.ARCHIVABLE),
        parent_name=around.parent_name,
        fork_step=run.fork_step,
        study_id=around.study_id,
        stopping_when=around.stopping_when,
    )


def run_detail(session: Session, settings: Settings, run_id: str, caller: Principal) -> RunDetail:
    """One run as this caller sees it, changes of this session included. Raises Problem 404."""
    session.flush()
    row = repository.row(session, run_id, caller.id)
    parent = None if row.run.parent_id is None else session.get(Run, row.run.parent_id)
    around = Surroundings(
        repository.worker_name(session, row.run),
        None if parent is None else parent.name,
        lifecycle.stopping_when(session, row.run),
        repository.study_of(session, run_id),
    )
    return detail(row, around, caller, settings)


def allowed_actions(row: RunRow, caller: Principal) -> list[states.Action]:
    """Actions that this caller may take on the run now."""
    if Permission.WRITE not in GRANTED[caller.role]:
        # Not even a clone.
        return []
    possible = [action for action in states.actions(row.run.status) if _makes_sense(action, row.run)]
    if caller.may_change(row.run):
        return possible
    return [action for action in possible if action in ("clone", "fork")]


def _makes_sense(action: states.Action, run: Run) -> bool:
    """Whether there is anything to change, to hold or release, or to go on from."""
    if action in ("hold", "release"):
        return (run.held_at is None) == (action == "hold")
    if action == "fork":
        return run.attempt > 0 and run.step > 0 and run.import_source is None
    return action != "change" or bool(steerable_fields(run.method))


def control(row: Control) -> ControlInfo:
    """A request to a run."""
    return ControlInfo.model_validate(
        {
            "id": row.id,
            "kind": row.kind,
            "author": row.author,
            "created_at": row.created_at,
            "set": row.changes,
            "at_step": row.at_step,
            "state": row.state,
            "applied_step": row.applied_step,
            "reason": row.reason,
            "when": row.moment,
            "withdrawn_by": row.withdrawn_by,
        }
    )


def audit_entry(row: AuditRow) -> AuditEntry:
    """A line of the audit trail."""
    return AuditEntry(at=row.at, author=row.author, action=row.action, detail=row.detail)
