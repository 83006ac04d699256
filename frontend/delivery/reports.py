"""GET /reports/paper.html?runs=a,b,c&group=method: selected runs as one HTML file; and those of studies and boards."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from bapo.client import AsyncClient
from bapo.figures.groups import BY_CONFIG
from bapo.report.api_runs import fetch_runs
from bapo.report.board import Shown, board_document, needs_both
from bapo.report.contents import selection_of
from bapo.report.document import TITLE, report
from bapo.report.study import study_document
from bapo.study.declaration import slug
from bapo.study.markdown import markdown
from frontend.request.answers import answered, problem
from frontend.request.session import Api

REPORTS_PREFIX = "/reports/"
STUDY_PREFIX = "/reports/study/"
PATH = "/reports/paper.html"
_STUDY = re.compile(r"/reports/study/(?P<study_id>[^/.]+)\.(?P<kind>html|md|json)")
_BOARD = re.compile(r"/reports/board/(?P<board_id>[^/.]+)\.html")
_MEDIA = {"html": "text/html", "md": "text/markdown", "json": "application/json"}
MOST_TITLE = 200


async def reports(request: Request, api: Api, dashboard: str) -> Response:
    """Return the file as a download; problems as the API answers them. `dashboard`: its address, which runs are linked
    to."""
    path = request.url.path
    if request.method in ("GET", "HEAD"):
        if path == PATH:
            return await answered(_paper(request, api, dashboard))
        if (study := _STUDY.fullmatch(path)) is not None:
            return await answered(_study(api, study["study_id"], study["kind"], dashboard))
        if (board := _BOARD.fullmatch(path)) is not None:
            return await answered(_board(api, board["board_id"]))
    return problem(404, "not_found", "there is nothing at this address")


# Drawing takes a second or so of one core: other requests go on meanwhile, since it is done in a thread.
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
    content = await asyncio.to_thread(report, selection, title=title, base_url=dashboard)
    return _download(content, f"bapo-report-{datetime.now(UTC):%Y-%m-%d}")


def run_ids_of(query: Mapping[str, str]) -> list[str]:
    """Return the runs of an address, each once, in its order."""
    return list(dict.fromkeys(part for part in query.get("runs", "").split(",") if part))


async def _study(api: Api, study_id: str, kind: str, dashboard: str) -> Response:
    found = await api.client().study_report(study_id)
    match kind:
        case "html":
            content = await asyncio.to_thread(study_document, found, base_url=dashboard)
        case "md":
            content = markdown(found).encode()
        case _:
            content = found.model_dump_json(indent=1).encode()
    return _download(content, f"study-{slug(found.title)[:60]}", kind)


async def _board(api: Api, board_id: str) -> Response:
    client = api.client()
    board = await client.board(board_id)
    shown = await asyncio.gather(
        *(_panel(client, board_id, panel.id, both=needs_both(panel)) for panel in board.panels)
    )
    by_panel = {panel.id: each for panel, each in zip(board.panels, shown, strict=True)}
    content = await asyncio.to_thread(board_document, board.name, board.panels, by_panel)
    return _download(content, f"board-{slug(board.name)[:60]}")


async def _panel(client: AsyncClient, board_id: str, panel_id: str, *, both: bool) -> Shown:
    light = await client.board_panel(board_id, panel_id, scheme="light")
    return Shown(light, await client.board_panel(board_id, panel_id, scheme="dark") if both else light)


def _download(content: str | bytes, name: str, kind: str = "html") -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(content, media_type=f"{_MEDIA[kind]}; charset=utf-8", headers=headers)
