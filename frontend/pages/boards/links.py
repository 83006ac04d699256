"""The dialog that makes and revokes read-only links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Output, State, html, set_props

from bapo.api.boards import BoardLinkCreate, BoardLinkInfo
from bapo.client import AsyncClient
from frontend.components.actions import show, when_pressed, when_submitted
from frontend.components.controls import small_button
from frontend.components.dialogs import Question, question, when_agreed
from frontend.components.elements import pressed_in, store_button
from frontend.components.notices import one_time_secret
from frontend.components.table import cell, row, table
from frontend.components.text import moment
from frontend.request.session import Api

_HEADS = ("Link", "By", "Expires", "Opened", "")


def share_dialog() -> dmc.Modal:
    """Return the closed dialog."""
    content = [
        dmc.Text(
            "Members of the project open the board at this page's own address. A read-only link shows it to everybody "
            "who has the link, without a login: what its panels show, and nothing else of the project.",
            size="sm",
        ),
        html.Div(id="board-link-secret"),
        dmc.Group(
            [
                dmc.NumberInput(
                    id="board-link-days",
                    label="Expires after days",
                    value=30,
                    min=1,
                    max=365,
                    allowDecimal=False,
                    size="sm",
                    w=180,
                ),
                dmc.Button("Make a read-only link", id="board-link-submit", size="sm"),
            ],
            align="flex-end",
        ),
        html.Div(id="board-link-problem"),
        html.Div(id="board-links"),
    ]
    return dmc.Modal(dmc.Stack(content), id="board-share-dialog", title="Share this board", size="lg", centered=True)


def link_list(board_id: str, links: Sequence[BoardLinkInfo]) -> Any:
    """Return the links with what became of them."""
    if not links:
        return dmc.Text("There is no link yet.", size="sm", c="dimmed")
    now = datetime.now(UTC)
    return table(_HEADS, [_row(board_id, link, now) for link in links], "board-link-list")


def _row(board_id: str, link: BoardLinkInfo, now: datetime) -> html.Tr:
    if link.revoked_at is not None:
        state: Any = ["revoked ", moment(link.revoked_at, now=now), f" by {link.revoked_by}"]
        button: Any = ""
    else:
        is_over = link.expires_at <= now
        state = ["expired " if is_over else "", f"{link.expires_at:%Y-%m-%d %H:%M} UTC"]
        store = store_button("board-link", board=board_id, link=link.id, name=f"{link.prefix}…")
        button = "" if is_over else small_button("Revoke", **store)
    opened = "never" if link.last_opened_at is None else moment(link.last_opened_at, now=now)
    return row(html.Code(f"{link.prefix}…"), link.author, cell(state, "nowrap"), opened, button)


async def _redraw(client: AsyncClient, board_id: str) -> None:
    show("board-links", link_list(board_id, (await client.board_links(board_id)).items))


def register(app: Dash, api: Api) -> None:
    """Register opening, making and revoking."""

    @when_pressed(app, "board-share", states=[State("board-id", "data")])
    async def open_dialog(_: str, board_id: str) -> None:
        show("board-link-secret", "")
        show("board-link-problem", "")
        await _redraw(api.client(), board_id)
        set_props("board-share-dialog", {"opened": True})

    @when_submitted(
        app,
        "board-link-submit",
        fields={"expires_in_days": "board-link-days"},
        problem="board-link-problem",
        states=[State("board-id", "data"), State("board-link-days", "value")],
    )
    async def make(board_id: str, days: int | str | None) -> None:
        client = api.client()
        given = days if isinstance(days, int) else 30
        made = await client.share_board(board_id, BoardLinkCreate(expires_in_days=min(365, max(1, given))))
        note = f"Shown only now. It expires on {made.expires_at:%Y-%m-%d at %H:%M} UTC, or when it is revoked."
        show("board-link-secret", one_time_secret("Read-only link", made.address, note))
        await _redraw(client, board_id)

    @when_pressed(app, pressed_in("board-link"), outputs=[Output(question("board-revoke"), "data")])
    async def ask(pressed: Mapping[str, str]) -> Question:
        return Question(
            title="Revoke this link?",
            subject=pressed["name"],
            text="The link stops working at once and for good. A new link has another address.",
            button="Revoke the link",
            data={"board": pressed["board"], "link": pressed["link"]},
        )

    @when_agreed(app, "board-revoke")
    async def revoke(asked: Mapping[str, str]) -> None:
        client = api.client()
        await client.revoke_board_link(asked["board"], asked["link"])
        await _redraw(client, asked["board"])
