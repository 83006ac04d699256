"""GET /reports/paper.html?runs=a,b,c&group=method: selected runs as one HTML file; and those of studies and boards."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from bapo.figures.groups import BY_CONFIG
from bapo.report.contents import selection_of
from bapo.report.document import TITLE, report
from bapo.report.fetching import fetch_runs
from frontend.answers import answered, problem
from frontend.reports.board import board_asked_for, board_report
from frontend.reports.study import asked_for, study_report
from frontend.session import Api

REPORTS_PREFIX = "/reports/"
PATH = "/reports/paper.html"
MOST_TITLE = 200


async def reports(request: Request, api: Api, dashboard: str) -> Response:
    """Return the file as a download; problems as the API answers them. `dashboard`: its address, which runs are linked
    to."""
    path = request.url.path
    study, board = asked_for(path), board_asked_for(path)
    if request.method not in ("GET", "HEAD") or (study is None and board is None and path != PATH):
        return problem(404, "not_found", "there is nothing at this address")
    if board is not None:
        return await answered(board_report(api, board))
    return await answered(_paper(request, api, dashboard) if study is None else study_report(api, *study, dashboard))


async def _paper(request: Request, api: Api, dashboard: str) -> Response:
    run_ids = run_ids_of(request.query_params)
    if not run_ids:
        return problem(422, "invalid", "name at least one run, such as ?runs=a,b", field="runs")
    title = request.query_params.get("title", "")[:MOST_TITLE] or TITLE
    try:
        runs = await fetch_runs(api.client(), run_ids)
        selection = selection_of(runs, request.query_params.get("group") or BY_CONFIG)
    except ValueError as error:
        return problem(422, "invalid", str(error))
    # Drawing takes a second or so of one core: other requests go on meanwhile.
    content = await asyncio.to_thread(report, selection, title=title, base_url=dashboard)
    name = f"bapo-report-{datetime.now(UTC):%Y-%m-%d}.html"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


def run_ids_of(query: Mapping[str, str]) -> list[str]:
    """Return the runs of an address, each once, in its order."""
    return list(dict.fromkeys(part for part in query.get("runs", "").split(",") if part))
