"""Renders runs as the API returns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from backend.kit.bodies import rendered
from backend.kit.permissions import GRANTED, Permission
from backend.kit.principal import Principal
from backend.models import AuditRow, Control, Run
from backend.prices.hours import Prices
from backend.prices.service import prices_in_force
from backend.runs import lifecycle, repository, states
from backend.runs.repository import RunRow
from backend.settings.environment import Settings
from bapo.api.runs import AppliedChange, AuditEntry, ControlInfo, RunDetail, RunOrigin, RunStatus, RunSummary
from bapo.config.method import is_trainable, steerable_fields
from bapo.run.control import StopMoment


def eta_seconds(run: Run) -> float | None:
    """Time until the last step at the run's present pace; None where nothing trains or no pace is known."""
    is_training = run.status in (RunStatus.RUNNING, RunStatus.STARTING)
    if not is_training or run.step_seconds is None or not run.num_steps:
        return None
    return max(0, run.num_steps - run.step) * run.step_seconds


NOTES_START_CHARACTERS = 200
"""Maximum number of characters of the notes in a list."""


def summary(row: RunRow, prices: Prices) -> RunSummary:
    """Return a row of the list."""
    return rendered(RunSummary, row, row.usage, row.run, **_computed(row, prices))


def _computed(row: RunRow, prices: Prices) -> dict[str, Any]:
    """Return the fields of a `RunSummary` that no row has."""
    return {
        "eta_seconds": eta_seconds(row.run),
        "cost": row.usage.cost(prices),
        "currency": prices.currency,
        "notes_start": row.run.notes[:NOTES_START_CHARACTERS],
        "origin": origin(row.run),
    }


def origin(run: Run) -> RunOrigin:
    """Return where the run was trained, and how we know of it."""
    if not is_trainable(run.method):
        return "observed"
    return "trained here" if run.import_source is None else "imported"


class Surroundings(NamedTuple):
    """Facts about a run from other tables."""

    worker: str | None = None
    stop_seconds: float | None = None
    parent_name: str | None = None
    stopping_when: StopMoment | None = None
    study_id: str | None = None
    applied_changes: Sequence[AppliedChange] = ()


def detail(row: RunRow, around: Surroundings, caller: Principal, settings: Settings, prices: Prices) -> RunDetail:
    """Return one run for this caller."""
    run = row.run
    may_edit = caller.may_change(run)
    return rendered(
        RunDetail,
        row,
        row.usage,
        around,
        run,
        num_retries=run.num_attempts_without_progress,
        max_retries=lifecycle.max_retries(run, settings),
        allowed_actions=allowed_actions(row, caller),
        may_edit=may_edit,
        may_archive=may_edit and (run.archived_at is not None or run.status in states.ARCHIVABLE),
        # Known to the route of one run alone.
        last_event_id=None,
        revision=None,
        **_computed(row, prices),
    )


def run_detail(session: Session, settings: Settings, run_id: str, caller: Principal) -> RunDetail:
    """Return one run as this caller sees it, changes of this session included. Raises Problem 404."""
    session.flush()
    row = repository.row(session, run_id, caller.id)
    parent = None if row.run.parent_id is None else session.get(Run, row.run.parent_id)
    worker, stop_seconds = repository.newest_worker(session, row.run)
    around = Surroundings(
        worker,
        stop_seconds,
        None if parent is None else parent.name,
        lifecycle.stopping_when(session, row.run),
        repository.study_of(session, run_id),
        repository.applied_changes(session, [run_id])[run_id],
    )
    return detail(row, around, caller, settings, prices_in_force(session, settings))


def allowed_actions(row: RunRow, caller: Principal) -> list[states.Action]:
    """Return the actions that this caller may take on the run now."""
    if Permission.WRITE not in GRANTED[caller.role]:
        # Not even a clone.
        return []
    possible = [action for action in states.actions_of(row.run) if _makes_sense(action, row.run)]
    if caller.may_change(row.run):
        return possible
    return [action for action in possible if action in ("clone", "fork")]


def _makes_sense(action: states.Action, run: Run) -> bool:
    """Return whether there is anything to change, to hold or release, or to go on from."""
    if action in ("hold", "release"):
        return (run.held_at is None) == (action == "hold")
    if action == "fork":
        return run.attempt > 0 and run.step > 0 and run.import_source is None
    return action != "change" or bool(steerable_fields(run.method))


def control(row: Control) -> ControlInfo:
    """Return a request to a run."""
    return rendered(ControlInfo, row, set=row.changes, when=row.moment)


def audit_entry(row: AuditRow) -> AuditEntry:
    """Return a line of the audit trail."""
    return rendered(AuditEntry, row)
