"""One board: its heading and buttons, and its news; boards.js draws the panels, which it asks for itself."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
from dash import html
from plotly.io.json import to_json_plotly

from bapo.api.boards import BoardInfo, ChartPanel, Panel, PanelData, PaperPanel
from bapo.client import AsyncClient
from bapo.client.calls.boards import Scheme
from bapo.figures.board_chart import chart_figure, chart_note
from bapo.figures.metric_titles import metric_of
from bapo.figures.theme import Palette, palette_of, themed
from bapo.report.board import Shown, sections_of_panel, text_html
from bapo.report.document import drawings, section_html
from frontend.components.card import page_heading
from frontend.components.controls import download_button, small_button
from frontend.components.dialogs import confirm_dialog
from frontend.components.elements import Store, attributes, button_store, store_button
from frontend.components.icon import icon
from frontend.components.page import Page
from frontend.pages.boards import editor, links
from frontend.pages.boards.changes import name_of
from frontend.request.session import Api


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
            links.share_dialog(),
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
    export = download_button("Export as one HTML file", f"/reports/board/{board.id}.html", id="board-export")
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
        small_button("Share", "board-share", "link", size="xs"),
        small_button("Name and runs", "board-edit", "sliders", size="xs"),
        export,
        small_button("Delete", {"type": "board-delete", "id": board.id, "name": board.name}, "trash", size="xs"),
    ]


async def board_news(client: AsyncClient, board_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Answer GET /live/boards/{board_id}: `known` holds what the page shows, as PANEL:DIGEST with commas between.

    Raises ApiError and httpx.TransportError.
    """
    board = await client.board(board_id)
    scheme: Scheme = "dark" if query.get("scheme") == "dark" else "light"
    known = dict(pair.partition(":")[::2] for pair in query.get("known", "").split(",") if pair)
    shown = await asyncio.gather(*(client.board_panel(board_id, each.id, scheme=scheme) for each in board.panels))
    return await asyncio.to_thread(_news, board, shown, known, palette_of(scheme))


def _news(board: BoardInfo, shown: list[PanelData], known: Mapping[str, str], palette: Palette) -> dict[str, Any]:
    panels = []
    for panel, data in zip(board.panels, shown, strict=True):
        state = f"{palette.scheme} {panel.model_dump_json()} {data.model_dump_json()}"
        digest = hashlib.blake2b(state.encode(), digest_size=8).hexdigest()
        content = {} if known.get(panel.id) == digest else _content(panel, data, palette)
        panels.append({"id": panel.id, "digest": digest, **content})
    return {"version": board.version, "name": board.name, "panels": panels}


def _content(panel: Panel, data: PanelData, palette: Palette) -> dict[str, Any]:
    head = {"kind": panel.kind, "title": name_of(panel), "problem": data.problem}
    head["width"] = "full" if isinstance(panel, PaperPanel) else panel.width
    if isinstance(panel, ChartPanel):
        if data.chart is None or data.problem:
            return {**head, "empty": data.problem}
        figure = themed(chart_figure(panel, data.chart, palette), palette)
        question = "" if panel.title else metric_of(panel.y).question
        return {**head, "question": question, "note": chart_note(panel, data.chart), "figure": _plotted(figure)}
    if not isinstance(panel, PaperPanel):
        return {**head, "html": text_html(data)}
    sections = sections_of_panel(panel, Shown(data, data))
    html = "".join(map(section_html, sections))
    return {**head, "html": html, "drawings": _plotted(drawings(sections, palette))}


def _plotted(figure: Any) -> orjson.Fragment:
    return orjson.Fragment(to_json_plotly(figure))


PAGES = (Page("/boards/(?P<board_id>[^/]+)", layout, section="boards", events="/api/v1/events"),)
