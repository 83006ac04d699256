"""Route for the what-if analysis."""

from __future__ import annotations

from fastapi import Response

from backend.kit.context import AnswersOf, ContextOf, DbSession, new_router
from backend.kit.permissions import Reader
from backend.kit.response_cache import Answer
from backend.readings.what_if import service
from backend.runs import repository as runs
from bapo.analysis.what_if.answer import WhatIfAnswer
from bapo.api.readings import WhatIfRequest

router = new_router("what-if")


@router.post("/runs/{run_id}/what-if", summary="Run a what-if analysis", response_model=WhatIfAnswer)
def post_what_if(
    _: Reader, session: DbSession, context: ContextOf, answers: AnswersOf, run_id: str, request: WhatIfRequest
) -> Response:
    """Replay a run's batches with other thresholds, buffers or filters, as DAPO, or with another group size.

    Replays the recorded accuracies through batch construction; stores nothing. Results that rest on recorded responses
    alone are exact. Re-evaluations that never happened, DAPO's further rounds and groups of another size are drawn from
    the pass rates of the run's prompts: what depends on them has `estimated: true`, with `low` and `high` of a 90 %
    interval over the draws. The effect of other batches on the policy is not simulated. Fields that cannot be replayed
    get 422.
    """
    run = runs.get(session, run_id)

    def work_out() -> Answer:
        # Pydantic writes it faster than by way of Python objects.
        return Answer(service.answer(session, context, run, request).model_dump_json().encode())

    return answers.about(request.model_dump_json()).of(session, [run_id], work_out)
