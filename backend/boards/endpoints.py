"""Routes for boards, for what their panels show, and for read-only links."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request, Response

from backend.boards import links, panels, repository, service
from backend.boards.panels import Scheme
from backend.identity.auth.browser import client_address
from backend.kit.context import ContextOf, DbSession, SettingsOf, new_router
from backend.kit.idempotency import IdempotencyKey, once
from backend.kit.permissions import Anybody, Reader, Writer
from backend.kit.request_rate import RequestRate
from bapo.api.boards import (
    BoardChange,
    BoardCreate,
    BoardInfo,
    BoardLinkCreate,
    BoardLinkInfo,
    BoardLinkPage,
    BoardPage,
    NewBoardLink,
    PanelData,
    SharedBoard,
)

router = new_router("boards")

Colours = Annotated[Scheme, Query(description="Colours of figures that the server draws.")]
PanelName = Annotated[str, Path(max_length=40)]
Key = Annotated[str, Query(min_length=1, max_length=200, description="The link's secret.")]


@router.get("/boards", summary="List boards")
def list_boards(caller: Reader, session: DbSession) -> BoardPage:
    """List the boards of the caller's projects by name."""
    return BoardPage(items=[service.summary(row, caller) for row in repository.boards(session)])


@router.post("/boards", status_code=201, summary="Create a board")
def create_board(
    caller: Writer, session: DbSession, body: BoardCreate, idempotency_key: IdempotencyKey = None
) -> BoardInfo:
    """Make a board of panels, or begin one with the panels of a template."""

    def make() -> BoardInfo:
        return service.info(service.create(session, body, caller), caller)

    return once(session, caller, idempotency_key, f"board {body.model_dump_json()}", BoardInfo, make)


@router.get("/boards/{board_id}", summary="Get a board")
def get_board(caller: Reader, session: DbSession, board_id: str) -> BoardInfo:
    """Get a board by ID, with its panels; what they show is asked for one by one."""
    return service.info(repository.board(session, board_id), caller)


@router.put("/boards/{board_id}", summary="Replace a board")
def replace_board(caller: Writer, session: DbSession, board_id: str, body: BoardChange) -> BoardInfo:
    """Save another version. 409 if another user has saved one since: load theirs, and make the change there.

    Requires a member of the board's project.
    """
    return service.info(service.replace(session, board_id, body, caller), caller)


@router.delete("/boards/{board_id}", status_code=204, summary="Delete a board")
def delete_board(caller: Writer, session: DbSession, board_id: str) -> None:
    """Delete a board and its links for good. Requires a member of its project. Its runs are left as they are."""
    service.delete(session, board_id, caller)


@router.get("/boards/{board_id}/panels/{panel_id}", summary="Get what a panel shows", response_model=PanelData)
def get_panel(
    _: Reader,
    request: Request,
    session: DbSession,
    context: ContextOf,
    board_id: str,
    panel_id: PanelName,
    scheme: Colours = "light",
) -> Response:
    """Return the curves of a chart, a text with its numbers, or the paper's figures, of the runs that match now.

    A chart shows at most the newest 50 runs, and of each curve at most about 1,000 points, which keep the extremes.
    """
    board = repository.board(session, board_id).board
    answer = panels.panel_answer(session, context, board, service.panel_of(board, panel_id), scheme)
    return answer.response(request.headers.get("if-none-match"))


@router.get("/boards/{board_id}/links", summary="List the links of a board")
def list_board_links(caller: Writer, session: DbSession, board_id: str) -> BoardLinkPage:
    """List read-only links, newest first, without their secrets. Requires a member of the board's project."""
    service.writable(session, board_id, caller)
    return BoardLinkPage(items=[links.link_info(link) for link in repository.links(session, board_id)])


@router.post("/boards/{board_id}/links", status_code=201, summary="Share a board by a link")
def share_board(
    caller: Writer, session: DbSession, settings: SettingsOf, board_id: str, body: BoardLinkCreate
) -> NewBoardLink:
    """Make a link that shows the board to everybody who has it, without a login, until it expires or is revoked.

    The answer alone holds its secret. Requires a member of the board's project.
    """
    return links.share(session, settings, board_id, body, caller)


@router.delete("/boards/{board_id}/links/{link_id}", summary="Revoke a link")
def revoke_board_link(caller: Writer, session: DbSession, board_id: str, link_id: str) -> BoardLinkInfo:
    """End a link at once; it stays in the list. Requires a member of the board's project."""
    return links.revoke(session, board_id, link_id, caller)


@router.get("/shared-board", summary="Open a board by its link")
def get_shared_board(_: Anybody, request: Request, session: DbSession, context: ContextOf, key: Key) -> SharedBoard:
    """Return the panels of the board that the link opens, without filters. 410 for a link that was revoked or has
    expired."""
    context.part(RequestRate).take(client_address(request, context.settings))
    return links.shared_board(links.opened(session, key))


@router.get("/shared-board/panel", summary="Get what a panel shows, by a link", response_model=PanelData)
def get_shared_panel(
    _: Anybody,
    request: Request,
    session: DbSession,
    context: ContextOf,
    key: Key,
    panel: Annotated[str, Query(min_length=1, max_length=40, description="ID of the panel.")],
    scheme: Colours = "light",
) -> Response:
    """Get a panel as the board's members see it, without error messages."""
    context.part(RequestRate).take(client_address(request, context.settings))
    board = links.opened(session, key).board
    found = service.panel_of(board, panel)
    answer = panels.panel_answer(session, context, board, found, scheme, is_public=True)
    return answer.response(request.headers.get("if-none-match"))
