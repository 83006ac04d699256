"""Studies: made whole or not at all, read, steered together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from backend.fleet.control import bulk
from backend.identity.audit.repository import add_audit
from backend.identity.projects import choice
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.launch.studies import plans, results
from backend.launch.studies import repository as studies
from backend.launch.studies.candidates import Candidate
from backend.launch.studies.repository import MadeRun, Progress, StudyRow
from backend.launch.submissions import submission
from backend.models import Study, StudyRun
from backend.runs import repository as runs
from backend.runs import states
from backend.settings.environment import Settings
from bapo.api import studies as api
from bapo.api.runs import MAX_BULK, BulkRequest, RunCreate, RunFork, RunStatus
from bapo.api.studies import (
    ShippedStudies,
    ShippedStudy,
    StudyAction,
    StudyActionAnswer,
    StudyActionRequest,
    StudyCreate,
    StudyDetail,
    StudyRunState,
    StudySummary,
)
from bapo.config import ConfigError, ConfigProblem
from bapo.study.declaration import Declaration, parse, shipped
from bapo.study.plan import Choices, PlannedRun, final_runs, tuning_runs
from bapo.study.report import arms_of, primary_words
from bapo.study.results import StudyRunInfo

ACTIONS: tuple[StudyAction, ...] = ("start", "stop", "pause", "resume", "hold", "release", "retry")

_STATES: Mapping[RunStatus, StudyRunState] = {
    RunStatus.DRAFT: "waiting",
    RunStatus.QUEUED: "waiting",
    RunStatus.STARTING: "training",
    RunStatus.RUNNING: "training",
    RunStatus.PAUSING: "training",
    RunStatus.STOPPING: "training",
    RunStatus.LOST: "training",
    RunStatus.PAUSED: "stopped",
    RunStatus.CANCELLED: "stopped",
    RunStatus.SUCCEEDED: "done",
    RunStatus.FAILED: "failed",
}


def shipped_studies() -> ShippedStudies:
    """Return the files that come with the server."""
    found = [(name, text, parse(text)) for name, text in shipped().items()]
    return ShippedStudies(
        items=[
            ShippedStudy(name=name, title=study.title, question=study.question, num_runs=study.num_runs, text=text)
            for name, text, study in found
        ]
    )


# ---------------------------------------------------------------- making


def create(session: Session, body: StudyCreate, caller: Principal) -> str:
    """Make a study and submit its runs: all of them, or those that choose settings first. Returns its identifier.

    Raises ConfigError naming each run that cannot run, Problem 409 for a name that is taken.
    """
    project = choice.for_new(session, caller, body.project, beside=plans.parent_project(session, body))
    plan = plans.plan_of(session, body, project.id)
    problems = [
        ConfigProblem(problem.field, problem.value, f"run {number}, {_named(run.point)}: {problem.remedy}")
        for number, run in enumerate(plan.runs, start=1)
        for problem in run.problems
    ]
    if problems:
        raise ConfigError(problems)
    group_id = studies.add_group(session, project.id, plan.title)
    if group_id is None:
        field = "name"
        remedy = "a study or group has this name already: choose another"
        if plan.declaration is not None:
            field = "title"
            remedy = (
                "a study or group has this title already: a declaration is not changed after its first run, so give a "
                "changed one another title"
            )
        raise Problem(409, "name_taken", remedy, field=field, value=plan.title)
    waits_for_tuning = plan.declaration is not None and plan.declaration.tuning is not None
    study = Study(
        id=group_id,
        project_id=project.id,
        owner_id=caller.id,
        text=body.text,
        digest=None if plan.declaration is None else plan.declaration.digest,
        fields=plan.fields,
        recipe=None if plan.declaration is not None else plan.recipe,
        parent_id=plan.parent_id,
        base=dict(plan.base),
        checkpoints=[origin.model_dump() for origin in plan.origins],
        further_steps=body.further_steps,
        tags=list(body.tags),
        notes=body.notes,
        priority=body.priority,
        choices=None if waits_for_tuning else [],
    )
    session.add(study)
    session.flush()
    session.add_all(
        StudyRun(
            study_id=group_id,
            name=run.name,
            position=position,
            point=dict(run.point) if plan.declaration is None else {},
            run_id=None,
            was_submitted=False,
        )
        for position, run in enumerate(plan.runs)
    )
    session.flush()
    row = StudyRow(study, plan.title, caller.name, project.name)
    submit(session, row, plan.recipe, plan.first_runs, caller, start=body.start)
    detail = {"study_id": group_id, "title": plan.title, "num_runs": len(plan.runs), "digest": study.digest}
    add_audit(session, None, caller.name, "study created", detail)
    session.flush()
    return group_id


def _named(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{field} = {json.dumps(value)}" for field, value in point.items())


def submit(
    session: Session,
    row: StudyRow,
    recipe: str | None,
    planned: Sequence[Candidate],
    caller: Principal,
    *,
    start: bool = True,
) -> None:
    """Make runs of a study, each once."""
    rows = studies.rows(session, row.study.id)
    for candidate in planned:
        made = rows[candidate.name]
        if made.was_submitted:
            continue
        asked: dict[str, Any] = {
            "name": candidate.run_name,
            "changes": {**row.study.base, **candidate.changes},
            "tags": row.study.tags,
            "priority": row.study.priority,
            "start": start,
        }
        if candidate.origin is None:
            body = RunCreate(project=row.project, recipe=recipe, parent_id=row.study.parent_id, **asked)
            run = submission.create(session, body, caller)
        else:
            parent = runs.get(session, candidate.origin.run_id)
            run = submission.fork(session, parent, RunFork(step=candidate.origin.step, **asked), caller)
        run.group_id = row.study.id
        made.run_id, made.was_submitted = run.id, True
    session.flush()


# ---------------------------------------------------------------- reading


def declaration_of(study: Study) -> Declaration | None:
    """Return the declaration; `None` for a grid or a list of runs."""
    return None if study.text is None else parse(study.text)


def choices_of(study: Study) -> Choices:
    """Return the settings that tuning chose."""
    return {(each["regime"], each["arm"]): each["set"] for each in study.choices or ()}


def run_infos(study: Study, declaration: Declaration, made: Sequence[MadeRun]) -> list[StudyRunInfo]:
    """Return every declared run and what became of it, for the report."""
    return [
        StudyRunInfo.model_validate({**_planned_fields(planned), **_made_fields(each), "name": planned.name})
        for planned, each in _declared(study, declaration, made)
    ]


def _declared(study: Study, declaration: Declaration, made: Sequence[MadeRun]) -> list[tuple[PlannedRun, MadeRun]]:
    by_name = {each.name: each for each in made}
    planned = [*tuning_runs(declaration), *final_runs(declaration, choices_of(study))]
    return [(run, by_name[run.name]) for run in planned]


def _planned_fields(planned: PlannedRun) -> dict[str, Any]:
    return {**{name: getattr(planned, name) for name in ("stage", "regime", "arm", "seed")}, "set": dict(planned.point)}


def _made_fields(made: MadeRun) -> dict[str, Any]:
    run = made.run
    state = _state(None if run is None else run.status, was_submitted=made.was_submitted)
    return {
        "state": state,
        "reason": "deleted" if state == "missing" else None if run is None else run.status_reason,
        "step": 0 if run is None else run.step,
        "num_steps": None if run is None else run.num_steps or None,
        "run_id": None if run is None else run.id,
    }


def _state(status: RunStatus | None, *, was_submitted: bool) -> StudyRunState:
    if status is not None:
        return _STATES[status]
    return "missing" if was_submitted else "waiting"


_RESULTS = ("status", "num_rollouts", "reward_mean", "eval_name", "eval_base", "eval_latest", "eval_best")


def _run(made: MadeRun, fields: Mapping[str, Any]) -> api.StudyRun:
    run = made.run
    found = {"status": None} if run is None else {name: getattr(run, name) for name in (*_RESULTS, "eval_best_step")}
    name = made.name if run is None else run.name
    return api.StudyRun.model_validate({**fields, **_made_fields(made), **found, "name": name})


def summary(row: StudyRow, progress: Sequence[Progress]) -> StudySummary:
    """Return a row of the list."""
    return StudySummary.model_validate(_summary_fields(row, declaration_of(row.study), progress))


def _summary_fields(row: StudyRow, declaration: Declaration | None, progress: Sequence[Progress]) -> dict[str, Any]:
    states: Counter[StudyRunState] = Counter()
    for each in progress:
        states[_state(each.status, was_submitted=each.was_submitted)] += each.num_runs
    # Runs that are not submitted yet are as long as the others.
    steps = max((each.most_steps for each in progress), default=0)
    statuses = {each.status: each.num_runs for each in progress}
    found: dict[str, Any] = {
        "id": row.study.id,
        "title": row.title,
        "question": None,
        "owner": row.owner,
        "project": row.project,
        "created_at": row.study.created_at,
        "fields": row.study.fields,
        "checkpoints": row.study.checkpoints,
        "further_steps": row.study.further_steps,
        "num_runs": sum(each.num_runs for each in progress),
        "states": dict(states),
        "statuses": {status: statuses[status] for status in RunStatus if status in statuses},
        "steps_done": sum(each.steps_done for each in progress),
        "steps_planned": sum(steps * each.num_runs if each.status is None else each.steps_planned for each in progress),
    }
    if declaration is not None:
        found |= {
            "question": declaration.question,
            "num_arms": len(declaration.arms),
            "num_regimes": len(declaration.regimes),
            "num_seeds": len(declaration.seeds),
        }
    return found


def detail(session: Session, study_id: str) -> StudyDetail:
    """Return one study with its runs and their results. Raises Problem 404."""
    row = studies.get(session, study_id)
    study, declaration = row.study, declaration_of(row.study)
    made = studies.made_runs(session, study_id)
    found = {
        **_summary_fields(row, declaration, studies.progress(session, [study_id])[study_id]),
        "notes": study.notes,
        "recipe": study.recipe,
        "parent_id": study.parent_id,
        "base": study.base,
        "actions": [action for action in ACTIONS if any(_allows(each, action) for each in made)],
    }
    if declaration is None:
        later = studies.continued(session, [each.run for each in made if each.run is not None and study.checkpoints])
        found |= {
            "runs": [
                _run(each, {"set": each.point, "continued_as": later.get(each.run.id if each.run else "", ())})
                for each in made
            ],
            "settings": [] if study.checkpoints else results.settings_of(made),
            "eval_name": results.main_evaluation(made),
        }
    else:
        declared = _declared(study, declaration, made)
        found |= {
            "recipe": declaration.recipe,
            "base": {**declaration.config, **declaration.set},
            "text": study.text,
            "digest": study.digest,
            "primary": primary_words(declaration),
            "arms": arms_of(declaration),
            "regimes": [regime.name for regime in declaration.regimes],
            "seeds": declaration.seeds,
            "test_sets": declaration.test_sets,
            "runs": [_run(each, _planned_fields(planned)) for planned, each in declared],
        }
    return StudyDetail.model_validate(found)


def _allows(made: MadeRun, action: StudyAction) -> bool:
    run = made.run
    if run is None or (action in ("hold", "release") and (run.held_by is None) != (action == "hold")):
        return False
    return action in states.actions_of(run)


# ---------------------------------------------------------------- steering


def perform(
    session: Session, study_id: str, request: StudyActionRequest, caller: Principal, settings: Settings
) -> StudyActionAnswer:
    """Apply an action to each run whose state allows it. Raises Problem 404."""
    studies.get(session, study_id)
    made = studies.made_runs(session, study_id)
    chosen = [each.run.id for each in made if each.run is not None and _allows(each, request.action)]
    refused: dict[str, str] = {}
    done = 0
    for begin in range(0, len(chosen), MAX_BULK):
        body = BulkRequest.model_validate(
            {"run_ids": chosen[begin : begin + MAX_BULK], "action": request.action, "when": request.when}
        )
        answer = bulk.perform(session, body, caller, settings)
        refused |= {each.run_id: each.reason or "" for each in answer.results if not each.done}
        done += answer.num_done
    return StudyActionAnswer(num_done=done, num_left=len(made) - len(chosen), refused=refused)
