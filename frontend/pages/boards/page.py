"""One board: its heading and buttons; boards.js draws the panels, which it asks for itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.boards import BoardInfo
from frontend.components.attributes import attributes
from frontend.components.card import page_heading
from frontend.components.confirm import confirm_dialog
from frontend.components.icon import icon
from frontend.components.store import Store
from frontend.components.store_button import button_store, store_button
from frontend.pages.boards import editor, sharing
from frontend.prefix import served
from frontend.session import Api


async def layout(api: Api, parts: Mapping[str, str], _: Mapping[str, str]) -> Any:
    """Return the frame of the board; to those who may only look, without anything that changes it."""
    client = api.client()
    board = await client.board(parts["board_id"])
    tools: list[Any] = []
    if board.may_change:
        columns = (await client.run_columns(project=[board.project])).items
        views = [view for view in (await client.views()).items if view.project == board.project]
        tools = [
            editor.panel_drawer([each.name for each in columns], views),
            editor.board_dialog(),
            sharing.share_dialog(),
            confirm_dialog("board-delete"),
            confirm_dialog("board-remove", keep="Keep the panel"),
            confirm_dialog("board-revoke", keep="Keep the link"),
        ]
    return html.Div(
        [
            html.Div(page_heading(board.name, None, *_buttons(board)), id="board-head"),
            Store(id="board-id", data=board.id),
            Store(id="board-poke"),
            button_store("board-tool"),
            button_store("board-link"),
            html.Div(id="board-state", className="board-state", role="status"),
            html.Div(
                id="board-grid",
                className="board-page-grid",
                **attributes(data_board=board.id, data_changes="yes" if board.may_change else ""),
            ),
            *tools,
        ],
        className="board-page",
    )


def _buttons(board: BoardInfo) -> list[Any]:
    export = html.A(
        dmc.Button("Export as one HTML file", leftSection=icon("download", 16), size="xs", variant="default"),
        href=served(f"/reports/board/{board.id}.html"),
        download="",
        className="plain-link",
        id="board-export",
    )
    if not board.may_change:
        return [export]
    return [
        *(
            html.Button(
                [icon("plus", 14), label],
                type="button",
                className="menu-button",
                **store_button("board-tool", action="add", kind=kind),
            )
            for kind, label in (("chart", "Chart"), ("text", "Text"), ("paper", "Paper figures"))
        ),
        dmc.Button("Share", id="board-share", leftSection=icon("link", 16), size="xs", variant="default"),
        dmc.Button("Name and runs", id="board-edit", leftSection=icon("sliders", 16), size="xs", variant="default"),
        export,
        dmc.Button(
            "Delete",
            id={"type": "board-delete", "id": board.id, "name": board.name},
            leftSection=icon("trash", 16),
            size="xs",
            variant="default",
        ),
    ]
