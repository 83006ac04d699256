"""Check, make, read and steer studies."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query, Response

from backend.kit import cursors
from backend.kit.context import AnswersOf, DbSession, PricesOf, new_router
from backend.kit.idempotency import IdempotencyKey, once
from backend.kit.permissions import Reader, Writer
from backend.kit.response_cache import Answer
from backend.studies import reporting, repository, service
from bapo.api.studies import (
    ShippedStudies,
    StudyActionAnswer,
    StudyActionRequest,
    StudyCreate,
    StudyDetail,
    StudyPage,
    StudyPreview,
    StudyReport,
    StudyWrite,
)

router = new_router("studies")


@router.post("/studies/preview", summary="What a study file says")
def preview_study(_: Reader, session: DbSession, prices: PricesOf, body: StudyWrite) -> StudyPreview:
    """Makes nothing. What is wrong with the file stands in `problems`, each with field, value and remedy."""
    return service.preview(session, body, prices)


@router.post("/studies", status_code=201, summary="Make the runs of a study")
def create_study(
    caller: Writer, session: DbSession, body: StudyCreate, idempotency_key: IdempotencyKey = None
) -> StudyDetail:
    """All of them or none. A study that tunes makes its tuning runs now, and the others when those have ended."""

    def make() -> StudyDetail:
        return service.detail(session, service.create(session, body, caller))

    return once(session, caller, idempotency_key, f"study {body.model_dump_json()}", StudyDetail, make)


@router.get("/studies/shipped", summary="The study files that come with the server")
def shipped_studies(_: Reader) -> ShippedStudies:
    """To start from."""
    return service.shipped_studies()


@router.get("/studies", summary="The studies")
def list_studies(
    _: Reader,
    session: DbSession,
    cursor: Annotated[str | None, Query(max_length=2_000)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> StudyPage:
    """Newest first, with how far each is."""
    after = None if cursor is None else cursors.decode_texts(cursor, "studies", 1)[0]
    rows = repository.page(session, limit + 1, after)
    shown = rows[:limit]
    made = repository.made_runs(session, [row.study.id for row in shown])
    next_cursor = cursors.encode("studies", [shown[-1].study.id]) if len(rows) > limit else None
    return StudyPage(items=[service.summary(row, made[row.study.id]) for row in shown], next_cursor=next_cursor)


@router.get("/studies/{study_id}", summary="One study")
def get_study(_: Reader, session: DbSession, study_id: str) -> StudyDetail:
    """Its declaration and its runs."""
    return service.detail(session, study_id)


@router.get("/studies/{study_id}/report", summary="The report of a study", response_model=StudyReport)
def get_study_report(_: Reader, session: DbSession, answers: AnswersOf, study_id: str) -> Response:
    """As far as its runs are done; what is not done is named."""
    row = service.get(session, study_id)
    made = repository.made_runs(session, [study_id])[study_id]
    run_ids = [each.run.id for each in made if each.run is not None]
    # States of runs and what tuning chose change without anything recorded.
    told = [[each.name, each.run and each.run.status, each.was_submitted] for each in made]
    named = replace(answers, question=f"{answers.question} {told} {row.study.choices}")
    return named.of(session, run_ids, lambda: Answer.of(reporting.report(session, row, made).model_dump(mode="json")))


@router.post("/studies/{study_id}/actions", summary="Do one thing to all runs of a study")
def change_study(caller: Writer, session: DbSession, study_id: str, body: StudyActionRequest) -> StudyActionAnswer:
    """To those whose state allows it; the others are counted."""
    return service.perform(session, study_id, body, caller)
