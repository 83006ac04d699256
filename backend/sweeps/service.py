"""Sweeps: made whole or not at all, read with their results, steered together."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from backend.audit.repository import add_audit
from backend.configs import service as configs
from backend.control import bulk
from backend.kit.errors import Problem, not_found
from backend.kit.principal import Principal
from backend.models import Run, Sweep
from backend.projects import choice
from backend.runs import states
from backend.submissions import submission
from backend.sweeps import planning
from backend.sweeps import repository as sweeps
from backend.sweeps.repository import Progress, SweepRow
from bapo.analysis.comparison import estimate
from bapo.api.runs import BulkRequest, RunCreate
from bapo.api.sweeps import (
    SweepAction,
    SweepActionAnswer,
    SweepActionRequest,
    SweepCreate,
    SweepDetail,
    SweepRun,
    SweepSetting,
    SweepSummary,
)
from bapo.config import ConfigError, ConfigProblem

SEED_FIELDS = ("training.seed", "task.seed")
"""Runs that differ in these alone are repetitions of one setting."""

ACTIONS: tuple[SweepAction, ...] = ("start", "stop", "pause", "resume", "hold", "release")


def create(session: Session, body: SweepCreate, idempotency_key: str | None, caller: Principal) -> str:
    """Make all runs of the plan, once for each key; the sweep's identifier.

    Raises ConfigError naming each combination that cannot run, Problem 409 for a name that is taken or a key that came
    with another body.
    """
    digest = hashlib.sha256(body.model_dump_json().encode()).hexdigest()
    if idempotency_key is None:
        return _create(session, body, caller, None, digest)
    known = sweeps.with_idempotency_key(session, caller.id, idempotency_key)
    if known is None:
        try:
            with session.begin_nested():
                return _create(session, body, caller, idempotency_key, digest)
        except (IntegrityError, Problem):
            # Another request with the key was quicker: it has the key, or first the name.
            known = sweeps.with_idempotency_key(session, caller.id, idempotency_key)
            if known is None:
                raise
    if known.request_hash != digest:
        raise Problem(
            409,
            "idempotency_key_reused",
            f"this key made sweep {known.id} from another body: take a new key",
            field="Idempotency-Key",
            value=idempotency_key,
        )
    return known.id


def _create(session: Session, body: SweepCreate, caller: Principal, key: str | None, digest: str) -> str:
    project = choice.for_new(session, caller, body.project, beside=configs.parent_project(session, body))
    found = planning.candidates(session, body, project.id)
    problems = [
        ConfigProblem(problem.field, problem.value, f"run {number}, {_named(each.point)}: {problem.remedy}")
        for number, each in enumerate(found, start=1)
        for problem in each.problems
    ]
    if problems:
        raise ConfigError(problems)
    group_id = sweeps.add_group(session, project.id, body.name)
    if group_id is None:
        raise Problem(
            409, "name_taken", "a group or sweep has this name already: choose another", field="name", value=body.name
        )
    session.add(
        Sweep(
            id=group_id,
            owner_id=caller.id,
            fields=planning.varied_fields([each.point for each in found]),
            recipe=body.recipe,
            parent_id=body.parent_id,
            base=body.changes,
            notes=body.notes,
            idempotency_key=key,
            request_hash=None if key is None else digest,
        )
    )
    session.flush()
    for position, each in enumerate(found):
        run = submission.create(
            session,
            RunCreate(
                name=each.name,
                project=project.name,
                recipe=body.recipe,
                parent_id=body.parent_id,
                changes={**body.changes, **each.point},
                tags=body.tags,
                priority=body.priority,
                start=body.start,
            ),
            caller,
        )
        run.group_id, run.sweep_point, run.sweep_position = group_id, each.point, position
    detail = {"sweep_id": group_id, "name": body.name, "num_runs": len(found)}
    add_audit(session, None, caller.name, "sweep created", detail)
    session.flush()
    return group_id


def _named(point: dict[str, Any]) -> str:
    return ", ".join(f"{field} = {json.dumps(value)}" for field, value in point.items())


def summary(row: SweepRow, progress: Sequence[Progress]) -> SweepSummary:
    """A row of the list."""
    return SweepSummary(**_summary_fields(row, progress))


def _summary_fields(row: SweepRow, progress: Sequence[Progress]) -> dict[str, Any]:
    return {
        "id": row.sweep.id,
        "name": row.name,
        "owner": row.owner,
        "created_at": row.sweep.created_at,
        "fields": row.sweep.fields,
        "num_runs": sum(each.num_runs for each in progress),
        "statuses": {each.status: each.num_runs for each in progress},
        "steps_done": sum(each.steps_done for each in progress),
        "steps_planned": sum(each.steps_planned for each in progress),
    }


def get(session: Session, sweep_id: str) -> SweepRow:
    """One sweep. Raises Problem 404."""
    row = sweeps.get(session, sweep_id)
    if row is None:
        raise not_found("sweep", sweep_id)
    return row


def detail(session: Session, sweep_id: str) -> SweepDetail:
    """One sweep with its results. Raises Problem 404."""
    row = get(session, sweep_id)
    runs = sweeps.runs(session, sweep_id)
    names = Counter(run.eval_name for run in runs if run.eval_name is not None)
    eval_name = names.most_common(1)[0][0] if names else None
    return SweepDetail(
        **_summary_fields(row, sweeps.progress(session, [sweep_id]).get(sweep_id, [])),
        notes=row.sweep.notes,
        recipe=row.sweep.recipe,
        parent_id=row.sweep.parent_id,
        base=row.sweep.base,
        runs=[_run(run) for run in runs],
        settings=_settings(runs, eval_name),
        eval_name=eval_name,
        actions=[action for action in ACTIONS if any(_allows(run, action) for run in runs)],
    )


def _run(run: Run) -> SweepRun:
    return SweepRun(
        id=run.id,
        name=run.name,
        status=run.status,
        status_reason=run.status_reason,
        set=run.sweep_point or {},
        step=run.step,
        num_steps=run.num_steps,
        num_rollouts=run.num_rollouts,
        reward_mean=run.reward_mean,
        eval_name=run.eval_name,
        eval_base=run.eval_base,
        eval_latest=run.eval_latest,
        eval_best=run.eval_best,
        eval_best_step=run.eval_best_step,
    )


def _settings(runs: Sequence[Run], eval_name: str | None) -> list[SweepSetting]:
    by_setting: dict[str, list[Run]] = {}
    for run in runs:
        setting = _without_seeds(run.sweep_point or {})
        by_setting.setdefault(json.dumps(setting, sort_keys=True), []).append(run)
    found = []
    for same in by_setting.values():
        # An evaluation of the base model is no result of the setting.
        with_result = [run for run in same if run.eval_name == eval_name and run.eval_step]
        latest = estimate([run.eval_latest for run in with_result if run.eval_latest is not None])
        best = estimate([run.eval_best for run in with_result if run.eval_best is not None])
        found.append(
            SweepSetting(
                set=_without_seeds(same[0].sweep_point or {}),
                run_ids=[run.id for run in same],
                num_results=len(with_result),
                latest=None if latest is None else latest.value,
                latest_low=None if latest is None else latest.low,
                latest_high=None if latest is None else latest.high,
                best=None if best is None else best.value,
            )
        )
    return found


def _without_seeds(point: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in point.items() if field not in SEED_FIELDS}


def _allows(run: Run, action: SweepAction) -> bool:
    if action in ("hold", "release") and (run.held_by is None) != (action == "hold"):
        return False
    return action in states.actions(run.status)


def perform(session: Session, sweep_id: str, request: SweepActionRequest, caller: Principal) -> SweepActionAnswer:
    """Do it to each run whose state allows it. Raises Problem 404."""
    get(session, sweep_id)
    runs = sweeps.runs(session, sweep_id)
    chosen = [run.id for run in runs if _allows(run, request.action)]
    if not chosen:
        return SweepActionAnswer(num_done=0, num_left=len(runs), refused={})
    body = BulkRequest.model_validate({"run_ids": chosen, "action": request.action, "when": request.when})
    answer = bulk.perform(session, body, caller)
    refused = {each.run_id: each.reason or "" for each in answer.results if not each.done}
    return SweepActionAnswer(num_done=answer.num_done, num_left=len(runs) - len(chosen), refused=refused)
