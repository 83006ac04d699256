"""Current data of a panel, cached until its runs record more."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal

import orjson
from sqlalchemy.orm import Session

from backend.boards import curves, selection
from backend.boards.numbers import text_data
from backend.kit.context import Context
from backend.kit.errors import Problem
from backend.kit.response_cache import Answer
from backend.models import Board
from backend.prices.service import prices_in_force
from backend.readings.compare import service as comparison
from bapo.api.boards import ChartPanel, Panel, PaperPanel

Scheme = Literal["light", "dark"]
_HIDDEN = "This panel cannot be shown at the moment."


def panel_answer(
    session: Session, context: Context, board: Board, panel: Panel, scheme: Scheme, *, is_public: bool = False
) -> Answer:
    """Return a `PanelData`. What is wrong is said in it; to people with a link only that something is."""
    try:
        answer = _answer(session, context, board, panel, scheme, is_public=is_public)
    except Problem as problem:
        field = "" if problem.field is None else f"{problem.field} = {problem.value!r}: "
        answer = Answer.of({"id": panel.id, "problem": field + problem.remedy})
    if is_public:
        content = orjson.loads(answer.content)
        if content.get("problem"):
            answer = Answer.of({**content, "problem": _HIDDEN})
    return answer


def _answer(
    session: Session, context: Context, board: Board, panel: Panel, scheme: Scheme, *, is_public: bool
) -> Answer:
    if not isinstance(panel, ChartPanel | PaperPanel):
        text = text_data(session, context.answers, board, panel, is_public=is_public)
        return Answer.of({"id": panel.id, "text": text.model_dump()})
    found = selection.selected(session, board, panel)
    empty = {"num_shown": 0, "num_matching": 0}
    if not found.run_ids:
        kind = {"chart": {"curves": [], **empty}} if isinstance(panel, ChartPanel) else {"paper": None}
        return Answer.of({"id": panel.id, **kind, "problem": "No run matches this panel's filters."})
    # Whether a field exists to group the paper's figures by is for the figures to say: they know more of them.
    group = panel.group if isinstance(panel, ChartPanel) else "run"
    # Oldest first, so that a new run comes last in the legend.
    chosen = comparison.choose(session, found.run_ids[::-1], group)
    # What is drawn of a run but its records.
    facts = [(row.run.name, row.run.status, row.run.tags, row.group) for row in chosen.rows]
    dependencies = [facts, chosen.groups, chosen.changes, found.num_matching]
    question = f"board {board.id} {board.version} {panel.id} {scheme} {chosen.ids} {dependencies}"

    def work_out() -> Answer:
        return Answer.of({"id": panel.id, **_shown(session, context, panel, scheme, found, chosen)})

    return context.answers.answer(session, question, chosen.ids, work_out)


def _shown(
    session: Session,
    context: Context,
    panel: ChartPanel | PaperPanel,
    scheme: Scheme,
    found: selection.Selected,
    chosen: comparison.Chosen,
) -> dict[str, Any]:
    if isinstance(panel, ChartPanel):
        chart = curves.chart_data(session, panel, found, chosen)
        problem = None if chart["curves"] else curves.missing_metric(session, panel, chosen.ids)
        return {"chart": chart, "problem": problem}
    paper_data: Callable[..., dict[str, Any]] = import_module("backend.boards.paper").paper_data
    prices = prices_in_force(session, context.settings)
    return {"paper": paper_data(session, panel, found, chosen, prices, scheme)}
