"""Answers an open board with its panels, and what those show that show something else by now."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
from plotly.io.json import to_json_plotly

from bapo.api.boards import BoardInfo, ChartPanel, Panel, PanelData, PaperPanel
from bapo.client import AsyncClient
from bapo.client.calls.boards import Scheme
from bapo.figures.board_chart import chart_figure, chart_note
from bapo.figures.metric_names import metric_of
from bapo.figures.theme import Palette, palette_of, themed
from bapo.report.board import Shown, sections_of_panel, text_html
from bapo.report.document import drawings, section_html
from frontend.pages.boards.changes import name_of


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
        told = f"{palette.scheme} {panel.model_dump_json()} {data.model_dump_json()}"
        digest = hashlib.blake2b(told.encode(), digest_size=8).hexdigest()
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
