"""A recorded run that is read: its row, its visits of prompts, and answers that are cached until it records more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Response

from backend.kit.context import AnswersOf, Context, ContextOf, DbSession, InSession, RecordAnswers
from backend.kit.permissions import Reader
from backend.kit.response_cache import Answer
from backend.models import Run
from backend.readings.visits.cache import VisitCache
from backend.readings.visits.columns import RunColumns
from backend.runs import repository as runs
from bapo.analysis.visits import Visits
from bapo.config.sections import group_size_of


@dataclass(frozen=True)
class RunReading(InSession):
    """A stored run, read in one session."""

    context: Context
    run_id: str

    @property
    def run(self) -> Run:
        """The run's row. Raises Problem 404."""
        return runs.get(self.session, self.run_id)

    @property
    def columns(self) -> RunColumns:
        """The same visits as `visits`, with the steps that recorded them."""
        return self.context.part(VisitCache).columns(self.session, self.run_id, group_size_of(self.run.config))

    @property
    def visits(self) -> Visits:
        """All stored visits of the run's prompts; of repeated steps, those of the latest attempt.

        Cached in the process: a call costs a query over a few rows as long as nothing was added, afterwards a reading
        of the new steps only. The arrays belong to all requests and cannot be written to; the same object comes back as
        long as the run has recorded nothing more.
        """
        return self.columns.visits


@dataclass(frozen=True)
class RequestedRun(RunReading):
    """The run that a request names, which the caller may read."""

    answers: RecordAnswers

    def answer(self, work_out: Callable[[Run], Answer], *more: object) -> Response:
        """Return the response of a route that depends only on path, query, `more` and what the run has recorded."""
        return self.answers.about(*more).of(self.session, [self.run_id], lambda: work_out(self.run))


async def _requested(
    _: Reader, session: DbSession, context: ContextOf, answers: AnswersOf, run_id: str
) -> RequestedRun:
    return RequestedRun(session, context, run_id, answers)


ReadableRun = Annotated[RequestedRun, Depends(_requested)]
