"""GET /shared?key=…: a board behind a read-only link, as a page that needs no login and asks for nothing but itself."""

from __future__ import annotations

import asyncio
import hashlib
import html
from collections.abc import Sequence
from typing import Any, TypeVar

import httpx
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from bapo.api.base import Body
from bapo.api.boards import PanelData, SharedBoard
from bapo.client import ApiError
from bapo.client.errors import error_of
from bapo.report.board import Following, Shown, board_document, needs_both
from bapo.report.document import ASSETS, FOLLOW, SCRIPTS
from frontend.delivery.files import Bundle, plotly_address
from frontend.delivery.plain_page import document, unavailable
from frontend.request.prefix import served
from frontend.request.session import Api

SHARED_PATH = "/shared"
LEAST_SECONDS = 15
"""Between two questions of an open page, at least."""
_UNSEEN = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer"}
_HEADINGS = {
    422: "This link is not complete",
    410: "This link opens nothing any more",
    404: "This link opens nothing",
    429: "Too many requests",
}

T = TypeVar("T", bound=Body)


def page_scripts() -> Bundle:
    """Return the scripts of the page, which need no login either: they are the same for everybody."""
    return Bundle([ASSETS / name for name in (FOLLOW, *SCRIPTS)], "js")


async def shared_board(request: Request, api: Api, scripts: str) -> Response:
    """Return the page; `scripts`: their address. A link that opens nothing says why.

    An open page asks again: who has what it shows by now gets 304, and nothing is drawn.
    """
    key = request.query_params.get("key", "")
    if not key:
        return _refused(422, "the address holds no key: copy the whole link")
    try:
        board = await _asked(api, request, "/shared-board", SharedBoard, key=key)
        shown = await asyncio.gather(
            *(_shown(api, request, key, each.id, both=needs_both(each)) for each in board.panels)
        )
    except ApiError as error:
        return _refused(error.status, error.body.remedy)
    except httpx.TransportError:
        return unavailable()
    by_panel = {panel.id: each for panel, each in zip(board.panels, shown, strict=True)}
    etag = _etag(board, shown, scripts)
    headers = _UNSEEN | {"ETag": etag, "Cache-Control": "no-store"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    # Drawing takes a part of a second of one core: other requests go on meanwhile.
    content = await asyncio.to_thread(
        board_document,
        board.name,
        board.panels,
        by_panel,
        expires_at=board.expires_at,
        scripts=[served(plotly_address()), served(scripts)],
        # Each panel is a request, or two, of those that an address may make.
        following=Following(etag, max(LEAST_SECONDS, len(shown))),
    )
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


def _etag(board: SharedBoard, shown: Sequence[Shown], scripts: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in (board, *(data for both in shown for data in both)):
        digest.update(part.model_dump_json().encode())
    digest.update(scripts.encode())
    return f'"{digest.hexdigest()}"'


async def _shown(api: Api, request: Request, key: str, panel: str, *, both: bool) -> Shown:
    light, *dark = await asyncio.gather(
        *(
            _asked(api, request, "/shared-board/panel", PanelData, key=key, panel=panel, scheme=scheme)
            for scheme in (("light", "dark") if both else ("light",))
        )
    )
    return Shown(light, dark[0] if dark else light)


async def _asked(api: Api, request: Request, path: str, model: type[T], **params: Any) -> T:
    """Ask without credentials; the backend counts by address. Raises ApiError and httpx.TransportError."""
    headers = {} if request.client is None else {"X-Forwarded-For": request.client.host}
    answer = await api.http.get(path, params=params, headers=headers)
    if not answer.is_success:
        raise error_of(answer)
    return model.model_validate_json(answer.content, extra="ignore")


def _refused(status: int, remedy: str) -> HTMLResponse:
    heading = _HEADINGS.get(status, "This board cannot be shown")
    content = f'<h1>{heading}</h1>\n<p class="problem" role="alert">{html.escape(remedy[:1].upper() + remedy[1:])}.</p>'
    return HTMLResponse(document(f"{heading} · BAPO", content), status_code=status, headers=_UNSEEN)
