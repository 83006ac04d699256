"""Boards: charts, texts and figures of a project, and links that show them."""

from __future__ import annotations

from typing import Literal

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
from bapo.client.call import route

Scheme = Literal["light", "dark"]


class BoardCalls:
    """Boards: charts, texts and figures of a project, and links that show them."""

    @route("GET /boards")
    def boards(self) -> BoardPage:
        """Return the boards of the caller's projects, by name."""

    @route("POST /boards")
    def create_board(self, body: BoardCreate, idempotency_key: str | None = None) -> BoardInfo:
        """Create a board; repeating the request with the same key returns the same board."""

    @route("GET /boards/{board_id}")
    def board(self, board_id: str) -> BoardInfo:
        """Return one board."""

    @route("PUT /boards/{board_id}")
    def replace_board(self, board_id: str, body: BoardChange) -> BoardInfo:
        """Save another version; rejected if another user has saved one in the meantime."""

    @route("DELETE /boards/{board_id}")
    def delete_board(self, board_id: str) -> None:
        """Delete a board and its links for good."""

    @route("GET /boards/{board_id}/panels/{panel_id}")
    def board_panel(self, board_id: str, panel_id: str, *, scheme: Scheme | None = None) -> PanelData:
        """Return what a panel shows now."""

    @route("GET /boards/{board_id}/links")
    def board_links(self, board_id: str) -> BoardLinkPage:
        """Return the read-only links, newest first."""

    @route("POST /boards/{board_id}/links")
    def share_board(self, board_id: str, body: BoardLinkCreate) -> NewBoardLink:
        """Create a read-only link; only this answer contains its secret."""

    @route("DELETE /boards/{board_id}/links/{link_id}")
    def revoke_board_link(self, board_id: str, link_id: str) -> BoardLinkInfo:
        """Revoke a link immediately."""

    @route("GET /shared-board")
    def shared_board(self, key: str) -> SharedBoard:
        """Return the board that a link opens; needs no login."""

    @route("GET /shared-board/panel")
    def shared_panel(self, key: str, panel: str, *, scheme: Scheme | None = None) -> PanelData:
        """Return what a panel of that board shows; needs no login."""
