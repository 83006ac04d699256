"""Routes for findings."""

from __future__ import annotations

from fastapi import Response

from backend.kit.context import ContextOf, DbSession, new_router
from backend.kit.permissions import Reader
from backend.prices.in_force import prices_in_force
from backend.readings.findings import service
from backend.readings.findings.service import with_cost
from backend.runs import repository as runs
from backend.runs.export import csv_lines
from bapo.analysis.findings.finding import FindingKind, FindingsReport, ListedPrompt, PromptList

router = new_router("findings")
COLUMNS = tuple(ListedPrompt.model_fields)


@router.get("/runs/{run_id}/findings", summary="Get a run's findings")
def get_findings(_: Reader, session: DbSession, context: ContextOf, run_id: str) -> FindingsReport:
    """Return the problems in a run's data: each finding with evidence, an interval or a null, and what to do about
    it.

    Computed from all that the run has recorded; of a run that is training, at most every few seconds. `checks` says
    what was looked for, and what is missing where a run has recorded too little. A probe's finding of time has the
    expected cost at the prices of now, or why there is none.
    """
    run = runs.get(session, run_id)
    report = service.search_of_run(session, context, run).report
    return with_cost(session, run, report, prices_in_force(session, context.settings))


@router.get("/runs/{run_id}/findings/{kind}/prompts", summary="List the prompts of a finding")
def get_finding_prompts(
    _: Reader, session: DbSession, context: ContextOf, run_id: str, kind: FindingKind
) -> PromptList:
    """List the prompts that a finding names, such as those never solved. Empty where nothing was found."""
    return service.prompts_of_finding(session, context, runs.get(session, run_id), kind)


@router.get(
    "/runs/{run_id}/findings/{kind}/prompts.csv",
    summary="Export the prompts of a finding",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "A table with a header."}},
)
def export_finding_prompts(
    _: Reader, session: DbSession, context: ContextOf, run_id: str, kind: FindingKind
) -> Response:
    """Return the prompts that a finding names as CSV: a header, then one line each."""
    listed = service.prompts_of_finding(session, context, runs.get(session, run_id), kind).items
    table = csv_lines([COLUMNS, *([getattr(item, name) for name in COLUMNS] for item in listed)])
    name = f"{run_id}-{kind.replace('_', '-')}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(table, media_type="text/csv", headers=headers)
