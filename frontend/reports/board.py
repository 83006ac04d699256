"""GET /reports/board/ID.html: a board as one HTML file."""

from __future__ import annotations

import asyncio
import re

from starlette.responses import Response

from bapo.client import AsyncClient
from bapo.report.board import Shown, board_document, needs_both
from bapo.study.declaration import slug
from frontend.session import Api

_PATH = re.compile(r"/reports/board/(?P<board_id>[^/.]+)\.html")


def board_asked_for(path: str) -> str | None:
    """Return the identifier in an address; None if it is not a board's."""
    match = _PATH.fullmatch(path)
    return None if match is None else match["board_id"]


async def board_report(api: Api, board_id: str) -> Response:
    """Return the file. Raises ApiError and httpx.TransportError."""
    client = api.client()
    board = await client.board(board_id)
    shown = await asyncio.gather(
        *(_shown(client, board_id, panel.id, both=needs_both(panel)) for panel in board.panels)
    )
    by_panel = {panel.id: each for panel, each in zip(board.panels, shown, strict=True)}
    # Drawing takes a second or so of one core: other requests go on meanwhile.
    content = await asyncio.to_thread(board_document, board.name, board.panels, by_panel)
    headers = {"content-disposition": f'attachment; filename="board-{slug(board.name)[:60]}.html"'}
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


async def _shown(client: AsyncClient, board_id: str, panel_id: str, *, both: bool) -> Shown:
    light = await client.board_panel(board_id, panel_id, scheme="light")
    return Shown(light, await client.board_panel(board_id, panel_id, scheme="dark") if both else light)
