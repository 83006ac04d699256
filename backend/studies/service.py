"""Studies: checked, made whole or not at all, steered together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlalchemy.orm import Session

from backend.audit.repository import add_audit
from backend.configs import estimate
from backend.control import bulk
from backend.kit.errors import Problem, not_found, presentable
from backend.kit.prices import Prices
from backend.kit.principal import Principal
from backend.models import Study, StudyRun
from backend.projects import choice
from backend.runs import states
from backend.studies import repository as studies
from backend.studies.repository import MadeRun, StudyRow
from backend.submissions import submission
from bapo.api.base import FieldProblem
from bapo.api.configs import EstimateRange
from bapo.api.runs import MAX_BULK, BulkRequest, RunCreate, RunStatus
from bapo.api.studies import (
    ShippedStudies,
    ShippedStudy,
    StudyAction,
    StudyActionAnswer,
    StudyActionRequest,
    StudyCreate,
    StudyDetail,
    StudyPreview,
    StudyRunInfo,
    StudySummary,
    StudyWrite,
)
from bapo.config import ConfigError, ConfigProblem
from bapo.study.declaration import Declaration, parse, shipped
from bapo.study.plan import Choices, PlannedRun, check, final_runs, resolved, tuning_runs
from bapo.study.report import arms_of, primary_words

NAME_CHARACTERS = 200
"""Longest name of a run."""
ACTIONS: tuple[StudyAction, ...] = ("start", "stop", "pause", "resume", "hold", "release", "retry")

_STATES = {
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


# ---------------------------------------------------------------- what is asked


def preview(session: Session, body: StudyWrite, prices: Prices) -> StudyPreview:
    """What a file says and what is wrong with it; makes nothing."""
    try:
        study = parse(body.text)
        warnings = check(study)
    except ConfigError as error:
        return StudyPreview(problems=_shown(error.problems))
    choice.for_reading(session, body.project)
    configs = [resolved(study, run).config for run in (*tuning_runs(study), *final_runs(study, {}))]
    return StudyPreview(
        problems=[],
        warnings=_shown(warnings),
        title=study.title,
        question=study.question,
        primary=primary_words(study),
        arms=arms_of(study),
        regimes=[regime.name for regime in study.regimes],
        seeds=study.seeds,
        test_sets=study.test_sets,
        num_runs=study.num_runs,
        num_tuning_runs=study.num_tuning_runs,
        seconds=_sum([one.seconds for one in estimate.estimates(session, configs, prices)]),
        digest=study.digest,
    )


def _shown(problems: Sequence[ConfigProblem]) -> list[FieldProblem]:
    return [FieldProblem(field=each.field, value=presentable(each.value), remedy=each.remedy) for each in problems]


def _sum(ranges: Sequence[EstimateRange | None]) -> EstimateRange | None:
    known = [each for each in ranges if each is not None]
    if len(known) < len(ranges):
        return None
    return EstimateRange(
        value=sum(each.value for each in known),
        low=sum(each.low for each in known),
        high=sum(each.high for each in known),
    )


def shipped_studies() -> ShippedStudies:
    """The files that come with the server."""
    found = [(name, text, parse(text)) for name, text in shipped().items()]
    return ShippedStudies(
        items=[
            ShippedStudy(name=name, title=study.title, question=study.question, num_runs=study.num_runs, text=text)
            for name, text, study in found
        ]
    )


# ---------------------------------------------------------------- making


def create(session: Session, body: StudyCreate, caller: Principal) -> str:
    """Make a study and submit what can be: everything, or the runs that choose settings first.

    Raises ConfigError for a declaration that cannot be run, Problem 409 for a title that is taken.
    """
    study = parse(body.text)
    check(study)
    project = choice.for_new(session, caller, body.project)
    group_id = studies.add_group(session, project.id, study.title)
    if group_id is None:
        remedy = (
            "a study, sweep or group has this title already: a declaration is not changed after its first run, so give "
            "a changed one another title"
        )
        raise Problem(409, "name_taken", remedy, field="title", value=study.title)
    row = Study(
        id=group_id,
        project_id=project.id,
        owner_id=caller.id,
        text=body.text,
        digest=study.digest,
        priority=body.priority,
        choices=[] if study.tuning is None else None,
    )
    session.add(row)
    session.flush()
    planned = [*tuning_runs(study), *final_runs(study, {})]
    session.add_all(
        StudyRun(study_id=group_id, name=run.name, position=position, run_id=None, was_submitted=False)
        for position, run in enumerate(planned)
    )
    session.flush()
    first = planned if study.tuning is None else tuning_runs(study)
    submit(session, StudyRow(row, caller.name, project.name), study, first, caller)
    detail = {"study_id": group_id, "title": study.title, "num_runs": study.num_runs, "digest": study.digest}
    add_audit(session, None, caller.name, "study created", detail)
    session.flush()
    return group_id


def submit(
    session: Session, row: StudyRow, study: Declaration, planned: Sequence[PlannedRun], caller: Principal
) -> None:
    """Queue runs of a study, each once."""
    rows = studies.rows(session, row.study.id)
    for planned_run in planned:
        made = rows[planned_run.name]
        if made.was_submitted:
            continue
        run = submission.create(
            session,
            RunCreate(
                name=_run_name(study, planned_run),
                project=row.project,
                recipe=study.recipe,
                changes={**study.config, **planned_run.changes},
                priority=row.study.priority,
            ),
            caller,
        )
        run.group_id = row.study.id
        made.run_id, made.was_submitted = run.id, True
    session.flush()


def _run_name(study: Declaration, run: PlannedRun) -> str:
    regime = f" · {run.regime}" if len(study.regimes) > 1 else ""
    tuning = " · tuning " + ", ".join(f"{field}={value}" for field, value in run.point.items())
    kind = tuning if run.stage == "tuning" else ""
    tail = f"{regime} · {run.arm}{kind} · seed {run.seed}"
    return f"{study.title[: NAME_CHARACTERS - len(tail)]}{tail}"[:NAME_CHARACTERS]


# ---------------------------------------------------------------- reading


def get(session: Session, study_id: str) -> StudyRow:
    """One study. Raises Problem 404."""
    row = studies.get(session, study_id)
    if row is None:
        raise not_found("study", study_id)
    return row


def choices_of(study: Study) -> Choices:
    """What tuning chose."""
    return {(each["regime"], each["arm"]): each["set"] for each in study.choices or ()}


def run_infos(study: Study, declaration: Declaration, made: Sequence[MadeRun]) -> list[StudyRunInfo]:
    """Every planned run and what became of it."""
    by_name = {each.name: each for each in made}
    planned = [*tuning_runs(declaration), *final_runs(declaration, choices_of(study))]
    return [_info(run, by_name[run.name]) for run in planned]


def _info(planned: PlannedRun, made: MadeRun) -> StudyRunInfo:
    run = made.run
    state = _STATES[run.status] if run is not None else "missing" if made.was_submitted else "waiting"
    return StudyRunInfo.model_validate(
        {
            **{name: getattr(planned, name) for name in ("name", "stage", "regime", "arm", "seed")},
            "set": dict(planned.point),
            "state": state,
            "reason": "deleted" if state == "missing" else None if run is None else run.status_reason,
            "step": 0 if run is None else run.step,
            "num_steps": None if run is None else run.num_steps or None,
            "run_id": None if run is None else run.id,
        }
    )


def summary(row: StudyRow, made: Sequence[MadeRun]) -> StudySummary:
    """A row of the list."""
    return StudySummary.model_validate(_summary_fields(row, parse(row.study.text), made))


def _summary_fields(row: StudyRow, declaration: Declaration, made: Sequence[MadeRun]) -> dict[str, object]:
    infos = run_infos(row.study, declaration, made)
    steps = max((info.num_steps or 0 for info in infos), default=0)
    return {
        "id": row.study.id,
        "title": declaration.title,
        "question": declaration.question,
        "owner": row.owner,
        "project": row.project,
        "created_at": row.study.created_at,
        "num_arms": len(declaration.arms),
        "num_regimes": len(declaration.regimes),
        "num_seeds": len(declaration.seeds),
        "states": dict(Counter(info.state for info in infos)),
        "steps_done": sum(info.step for info in infos),
        # Runs that are not submitted yet are as long as the others.
        "steps_planned": sum(info.num_steps or steps for info in infos),
    }


def detail(session: Session, study_id: str) -> StudyDetail:
    """One study with its runs. Raises Problem 404."""
    row = get(session, study_id)
    made = studies.made_runs(session, [study_id])[study_id]
    declaration = parse(row.study.text)
    return StudyDetail.model_validate(
        {
            **_summary_fields(row, declaration, made),
            "text": row.study.text,
            "digest": row.study.digest,
            "primary": primary_words(declaration),
            "arms": arms_of(declaration),
            "regimes": [regime.name for regime in declaration.regimes],
            "seeds": declaration.seeds,
            "test_sets": declaration.test_sets,
            "runs": run_infos(row.study, declaration, made),
            "actions": [action for action in ACTIONS if any(_allows(each, action) for each in made)],
        }
    )


def _allows(made: MadeRun, action: StudyAction) -> bool:
    run = made.run
    if run is None or (action in ("hold", "release") and (run.held_by is None) != (action == "hold")):
        return False
    return action in states.actions(run.status)


# ---------------------------------------------------------------- steering


def perform(session: Session, study_id: str, request: StudyActionRequest, caller: Principal) -> StudyActionAnswer:
    """Do it to each run whose state allows it. Raises Problem 404."""
    get(session, study_id)
    made = studies.made_runs(session, [study_id])[study_id]
    chosen = [each.run.id for each in made if each.run is not None and _allows(each, request.action)]
    refused: dict[str, str] = {}
    done = 0
    for begin in range(0, len(chosen), MAX_BULK):
        body = BulkRequest.model_validate(
            {"run_ids": chosen[begin : begin + MAX_BULK], "action": request.action, "when": request.when}
        )
        answer = bulk.perform(session, body, caller)
        refused |= {each.run_id: each.reason or "" for each in answer.results if not each.done}
        done += answer.num_done
    return StudyActionAnswer(num_done=done, num_left=len(made) - len(chosen), refused=refused)
