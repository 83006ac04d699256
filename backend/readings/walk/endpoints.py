"""Route for a step walked line by line."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from backend.kit.context import AnswersOf, ContextOf, DbSession, new_router
from backend.kit.permissions import Reader
from backend.kit.response_cache import Answer
from backend.readings.walk import service
from backend.runs import repository as runs
from bapo.analysis.walk.answer import StepWalk
from bapo.api.readings import WalkRequest

router = new_router("walk")


@router.get("/runs/{run_id}/walk", summary="Walk through a step", response_model=StepWalk)
def get_walk(
    _: Reader,
    session: DbSession,
    context: ContextOf,
    answers: AnswersOf,
    run_id: str,
    request: Annotated[WalkRequest, Query()],
) -> Response:
    """Return one recorded step, line by line next to Algorithm 1 or the method's own rule.

    Each line says what it did and with which groups: remembered, stored, trained on, answered again, left out, and why.
    With `c1`, `c2` or `c3`, the same groups under other thresholds, as if they had been changed at the beginning of
    this step: exact for this step, with what cannot be known in `cautions`. A step that is not recorded, or thresholds
    that are not legal, get 422.
    """

    def work_out() -> Answer:
        return Answer(service.walk(session, context, runs.get(session, run_id), request).model_dump_json().encode())

    return answers.of(session, [run_id], work_out)
