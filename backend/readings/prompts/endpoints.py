"""Routes for training prompts."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import Query, Response

from backend.kit.context import ContextOf, DbSession, new_router
from backend.kit.exports import CSV, JSON_LINES, attachment, csv_file
from backend.kit.permissions import Reader
from backend.readings.prompts import across, service
from backend.readings.run_reading import ReadableRun
from bapo.api.prompts import (
    ProjectPromptFilter,
    ProjectPromptPage,
    PromptAnswers,
    PromptCurves,
    PromptDetail,
    PromptFilter,
    PromptInRuns,
    PromptPage,
)

router = new_router("prompts")
PROMPT_COLUMNS = (
    *("prompt_id", "num_runs", "num_visits", "num_responses", "num_correct", "accuracy", "low", "high"),
    *("num_never_solved", "num_always_solved", "num_suspected", "text"),
)
PromptId = Annotated[str, Query(min_length=1, max_length=1_000, description="Identity of the prompt.")]
ProjectName = Annotated[str | None, Query(max_length=200, description="Defaults to the caller's only or first one.")]


class PromptQuery(PromptFilter):
    """A filter and a page."""

    cursor: Annotated[str | None, Query(max_length=4_000, description="`next_cursor` of the previous page.")] = None
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="Number of prompts to skip, for numbered pages.")] = 0
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100


@router.get("/runs/{run_id}/prompts", summary="List training prompts")
def list_prompts(run: ReadableRun, query: Annotated[PromptQuery, Query()]) -> PromptPage:
    """List prompts with their visits: step, source, number of correct responses and whether they were trained on."""
    return service.list_prompts(run, query, service.PageOf(query.cursor, query.offset, query.limit))


@router.get("/runs/{run_id}/prompts/{prompt_id:path}", summary="Get a training prompt")
def get_prompt(run: ReadableRun, prompt_id: str, wanted: Annotated[PromptFilter, Query()]) -> PromptDetail:
    """Return all visits of a prompt, and its neighbours in the filtered list."""
    return service.one_prompt(run, prompt_id, wanted)


class ProjectPromptQuery(ProjectPromptFilter):
    """A filter and a page."""

    offset: Annotated[int, Query(ge=0, le=10_000_000, description="Number of prompts to skip.")] = 0
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100


@router.get("/prompts", summary="List a project's prompts")
def list_project_prompts(
    _: Reader, session: DbSession, query: Annotated[ProjectPromptQuery, Query()]
) -> ProjectPromptPage:
    """List the training prompts of a project with their totals over all of its runs, the hardest first.

    An answer that several runs hold, as a fork and its parent do, counts once, in the oldest of them.

    Totals are stored separately: what a run records is counted within seconds, and `num_waiting` says how many runs
    are not counted yet.
    """
    return across.page(session, query, query.offset, query.limit)


@router.get("/prompts.csv", summary="Export a project's prompts as CSV", response_class=Response, responses=CSV)
def export_project_prompts(_: Reader, session: DbSession, wanted: Annotated[ProjectPromptFilter, Query()]) -> Response:
    """Return the prompts of a project that a filter finds with their totals, at most 100,000."""
    rows = [
        (
            *(each.prompt_id, each.num_runs, each.num_visits, each.accuracy.num_responses, each.accuracy.num_correct),
            *(each.accuracy.value, each.accuracy.low, each.accuracy.high),
            *(each.num_never_solved, each.num_always_solved, each.num_suspected, each.text),
        )
        for each in across.all_matching(session, wanted)
    ]
    return csv_file("prompts.csv", PROMPT_COLUMNS, rows)


@router.get(
    "/prompts.jsonl", summary="Export a project's prompts as JSON lines", response_class=Response, responses=JSON_LINES
)
def export_project_prompt_lines(
    _: Reader, session: DbSession, wanted: Annotated[ProjectPromptFilter, Query()]
) -> Response:
    """Return the matching prompts of a project with their totals, one JSON object a line, at most 100,000."""
    lines = "".join(f"{each.model_dump_json()}\n" for each in across.all_matching(session, wanted))
    return attachment(lines, "text/plain", "prompts.jsonl")


@router.get("/prompt-curves", summary="Get a prompt's accuracy by run")
def get_prompt_curves(
    _: Reader, session: DbSession, context: ContextOf, prompt_id: PromptId, project: ProjectName = None
) -> PromptCurves:
    """Return every evaluation of a prompt in the twelve newest runs that answered it; of many, 400 evenly spaced ones.

    A fork's begin with its own steps.
    """
    return across.curves(session, context, prompt_id, project)


@router.get("/prompt-answers", summary="Get the answers to a prompt over runs")
def get_prompt_answers(
    _: Reader, session: DbSession, prompt_id: PromptId, project: ProjectName = None
) -> PromptAnswers:
    """Group the newest stored responses of the twenty newest runs by their answer, and say which one they agree on.

    Five groups of each run are pooled, inherited ones in the oldest run alone. A wrong answer that 60 % of the
    responses give makes the label suspect; a model that repeats one error looks the same.
    """
    return across.answers(session, prompt_id, project)


@router.get("/prompt-history.csv", summary="Export a prompt's visits as CSV", response_class=Response, responses=CSV)
def export_prompt_history(_: Reader, session: DbSession, prompt_id: PromptId, project: ProjectName = None) -> Response:
    """Return every visit of a prompt in every run of the project; of a step that several hold, in the oldest of them.

    It takes a look at each step of these runs.
    """
    rows = [tuple(visit.values()) for visit in across.history(session, prompt_id, project)]
    return csv_file("prompt-history.csv", across.HISTORY_COLUMNS, rows)


@router.get(
    "/prompt-history.jsonl",
    summary="Export a prompt's visits as JSON lines",
    response_class=Response,
    responses=JSON_LINES,
)
def export_prompt_history_lines(
    _: Reader, session: DbSession, prompt_id: PromptId, project: ProjectName = None
) -> Response:
    """Return every visit of a prompt in every run of the project, one JSON object per line; inherited ones once."""
    lines = b"".join(orjson.dumps(visit) + b"\n" for visit in across.history(session, prompt_id, project))
    return attachment(lines, "text/plain", "prompt-history.jsonl")


@router.get("/prompts/{prompt_id:path}", summary="Get a training prompt across runs")
def get_prompt_in_runs(
    _: Reader,
    session: DbSession,
    prompt_id: str,
    project: ProjectName = None,
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="Number of runs to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> PromptInRuns:
    """Return a prompt's totals over all runs of a project, what it says, and the runs that visited it, the newest
    first."""
    return across.in_runs(session, prompt_id, project, offset, limit)
