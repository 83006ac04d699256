"""GET /reports/study/ID.html, .md and .json: a study's report as a download."""

from __future__ import annotations

import asyncio
import re

from starlette.responses import Response

from bapo.report.study import study_document
from bapo.study.declaration import slug
from bapo.study.markdown import markdown
from frontend.session import Api

STUDY_PREFIX = "/reports/study/"
_PATH = re.compile(r"/reports/study/(?P<study_id>[^/.]+)\.(?P<kind>html|md|json)")
MEDIA = {"html": "text/html", "md": "text/markdown", "json": "application/json"}


def asked_for(path: str) -> tuple[str, str] | None:
    """Return identifier and format in an address; None if it is not a study's."""
    match = _PATH.fullmatch(path)
    return None if match is None else (match["study_id"], match["kind"])


async def study_report(api: Api, study_id: str, kind: str, dashboard: str) -> Response:
    """Return the file, whose runs link to the address of the dashboard. Raises ApiError and httpx.TransportError."""
    report = await api.client().study_report(study_id)
    match kind:
        case "html":
            # Drawing takes a second or so of one core: other requests go on meanwhile.
            content = await asyncio.to_thread(study_document, report, base_url=dashboard)
        case "md":
            content = markdown(report).encode()
        case _:
            content = report.model_dump_json(indent=1).encode()
    name = f"study-{slug(report.title)[:60]}.{kind}"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=f"{MEDIA[kind]}; charset=utf-8", headers=headers)
