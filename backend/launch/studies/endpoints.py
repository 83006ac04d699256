"""Check, make, read and steer studies."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from backend.kit import cursors
from backend.kit.context import AnswersOf, ContextOf, DbSession, SettingsOf, new_router
from backend.kit.errors import Problem
from backend.kit.idempotency import IdempotencyKey, once
from backend.kit.permissions import Reader, Writer
from backend.kit.response_cache import Answer
from backend.launch.studies import experiment, plans, report, repository, results, service
from backend.prices.service import prices_in_force
from backend.readings.compare import importance
from backend.readings.compare.endpoints import Metric
from bapo.api.compare import ParameterImportance
from bapo.api.studies import (
    ForkExperiment,
    ShippedStudies,
    StudyActionAnswer,
    StudyActionRequest,
    StudyContinuation,
    StudyContinued,
    StudyCreate,
    StudyDetail,
    StudyPage,
    StudyPreview,
    StudyReport,
    StudyWrite,
)

router = new_router("studies")


@router.post("/studies/preview", summary="Preview a study")
def preview_study(_: Reader, session: DbSession, settings: SettingsOf, body: StudyWrite) -> StudyPreview:
    """Check every run that a study file, a grid, a list or a fork experiment would make, and estimate their cost.

    Makes nothing.
    """
    return plans.preview(session, body, prices_in_force(session, settings))


@router.post("/studies", status_code=201, summary="Create a study")
def create_study(
    caller: Writer, session: DbSession, body: StudyCreate, idempotency_key: IdempotencyKey = None
) -> StudyDetail:
    """Make all runs of a study file, a grid, a list or a fork experiment, or none: 422 names each run that cannot run.

    A study with tuning makes its tuning runs now and the others when those have ended. With `checkpoints`, every run is
    a fork: each grid point or listed point is an arm, made from each of them.
    """

    def make() -> StudyDetail:
        return service.detail(session, service.create(session, body, caller))

    return once(session, caller, idempotency_key, f"study {body.model_dump_json()}", StudyDetail, make)


@router.get("/studies/shipped", summary="List the shipped study files")
def shipped_studies(_: Reader) -> ShippedStudies:
    """List the study files that come with the server as examples."""
    return service.shipped_studies()


@router.get("/studies", summary="List studies")
def list_studies(
    _: Reader,
    session: DbSession,
    cursor: Annotated[str | None, Query(max_length=2_000)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> StudyPage:
    """List studies with their progress, newest first."""
    after = None if cursor is None else cursors.decode_texts(cursor, "studies", 1)[0]
    rows = repository.page(session, limit + 1, after)
    shown = rows[:limit]
    progress = repository.progress(session, [row.study.id for row in shown])
    next_cursor = cursors.encode("studies", [shown[-1].study.id]) if len(rows) > limit else None
    return StudyPage(items=[service.summary(row, progress[row.study.id]) for row in shown], next_cursor=next_cursor)


@router.get("/studies/{study_id}", summary="Get a study by ID")
def get_study(_: Reader, session: DbSession, study_id: str) -> StudyDetail:
    """Get a study: its runs, their results by setting with intervals over seeds, and its declaration, if it has one."""
    return service.detail(session, study_id)


@router.get("/studies/{study_id}/report", summary="Get the report of a study", response_model=StudyReport)
def get_study_report(_: Reader, session: DbSession, answers: AnswersOf, study_id: str) -> Response:
    """Return the report over the runs that are done so far; the others are listed.

    409 for a study without a question: its results are in the study itself.
    """
    row = repository.get(session, study_id)
    if row.study.text is None:
        raise Problem(
            409, "no_report", "a study without a question has no report: read its results from the study itself"
        )
    made = repository.made_runs(session, study_id)
    run_ids = [each.run.id for each in made if each.run is not None]
    # States of runs and what tuning chose change without anything recorded.
    dependencies = [[each.name, each.run and each.run.status, each.was_submitted] for each in made]
    named = answers.about(dependencies, row.study.choices)
    return named.of(session, run_ids, lambda: Answer.of(report.report(session, row, made).model_dump(mode="json")))


@router.get("/studies/{study_id}/importance", summary="Get parameter importance of a study")
def get_study_importance(
    _: Reader, session: DbSession, study_id: str, metric: Metric = importance.DEFAULT_METRIC
) -> ParameterImportance:
    """Return how much of the variance of a result each varied field, or arm and regime, explains, compared with chance.

    As for runs that are compared, with all runs of the study.
    """
    row = repository.get(session, study_id)
    made = repository.made_runs(session, study_id)
    return importance.describe(session, results.varied(row.study, made), metric)


@router.get(
    "/studies/{study_id}/experiment", summary="Get the results of a fork experiment", response_model=ForkExperiment
)
def get_fork_experiment(
    _: Reader,
    session: DbSession,
    context: ContextOf,
    answers: AnswersOf,
    study_id: str,
    dataset: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Compare the experiment's arms from the fork on, with paired differences to the baseline and their intervals.

    Arms share their draws, so they are paired by held-out problem and by fresh prompt. `covers` says what the intervals
    cover. 409 for a study that is none of forks.
    """
    row = repository.get(session, study_id)
    experiment.require(row.study)
    made = repository.made_runs(session, study_id)
    run_ids = [each.run.id for each in made if each.run is not None]
    parents = experiment.parents_of(session, row.study)
    dependencies = [[each.name, each.run and each.run.status] for each in made]
    named = answers.about(dependencies, [run.id for run in parents.values()])
    return named.of(
        session,
        [*run_ids, *parents],
        lambda: Answer.of(experiment.read(session, context, row.study, made, parents, dataset).model_dump(mode="json")),
    )


@router.post("/studies/{study_id}/continue", status_code=201, summary="Continue an arm of a fork experiment")
def continue_arm(
    caller: Writer,
    session: DbSession,
    study_id: str,
    body: StudyContinuation,
    idempotency_key: IdempotencyKey = None,
) -> StudyContinued:
    """Fork the last checkpoint of each of the arm's runs, to train on up to its parent's number of steps.

    The experiment and its other arms stay as they are. 409 where one of the runs has not ended well.
    """

    def make() -> StudyContinued:
        return experiment.continue_arm(session, study_id, body, caller)

    return once(session, caller, idempotency_key, f"{study_id} {body.model_dump_json()}", StudyContinued, make)


@router.post("/studies/{study_id}/actions", summary="Apply an action to all runs of a study")
def change_study(
    caller: Writer, session: DbSession, settings: SettingsOf, study_id: str, body: StudyActionRequest
) -> StudyActionAnswer:
    """Start, stop, pause, resume, hold, release or retry all runs that allow it. The others are counted."""
    return service.perform(session, study_id, body, caller, settings)
