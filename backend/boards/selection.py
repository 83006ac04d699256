"""The runs of a panel: those of the board, of the saved view and of the panel's own filters, as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from backend.kit.errors import Problem
from backend.models import Board, Run, SavedView
from backend.runs import filters as run_filters
from bapo.api.boards import MOST_RUNS, ChartPanel, PaperPanel, TextPanel
from bapo.api.runs import RunFilters

_NOBODY = ""
"""A board shows the same to everybody: no filter depends on who looks."""


class Selected(NamedTuple):
    """The newest runs that match, and how many match."""

    run_ids: list[str]
    num_matching: int


def check_filters(filters: RunFilters, field: str) -> None:
    """Raise Problem 422 for a condition that does not parse, and for a filter that a board cannot have."""
    for name, remedy in (
        ("starred", "stars are personal, and a board shows the same to everybody: use a tag"),
        ("project", "a board shows only runs of its project: leave this out"),
    ):
        if getattr(filters, name):
            raise Problem(422, "invalid_request", remedy, field=f"{field}.{name}", value=getattr(filters, name))
    if filters.trash != "hidden":
        remedy = "what is in the trash is on no board: leave this out"
        raise Problem(422, "invalid_request", remedy, field=f"{field}.trash", value=filters.trash)
    try:
        run_filters.conditions(filters, _NOBODY)
    except Problem as problem:
        raise Problem(
            problem.status_code, problem.code, problem.remedy, field=f"{field}.{problem.field}", value=problem.value
        ) from None


def view_filters(session: Session, board_project_id: str, view_id: str) -> RunFilters:
    """Return the filters of a saved view of the project. Raises Problem 422 where it is gone or personal."""
    view = session.get(SavedView, view_id)
    if view is None or view.project_id != board_project_id:
        remedy = "there is no such saved view in the board's project, or no longer: choose another, or filters"
        raise Problem(422, "no_such_view", remedy, field="view", value=view_id)
    filters = RunFilters.model_validate(view.filters, extra="ignore")
    if filters.starred:
        remedy = f"the saved view {view.name!r} filters by stars, which are personal: choose another, or a tag"
        raise Problem(422, "personal_view", remedy, field="view", value=view_id)
    return filters


def conditions(
    session: Session, board: Board, panel: ChartPanel | TextPanel | PaperPanel, where: Sequence[str] = ()
) -> list[ColumnElement[bool]]:
    """Return the conditions that a run must meet to be in the panel, with the given ones. Raises Problem 422."""
    parts = [RunFilters.model_validate(board.filters, extra="ignore")]
    if panel.view is not None:
        parts.append(view_filters(session, board.project_id, panel.view))
    parts.append(panel.filters)
    # Archived runs are left out unless one of the three wants them; each alone would leave them out of the others.
    archived = next((each.archived for each in reversed(parts) if each.archived != "hidden"), "hidden")
    parts = [each.model_copy(update={"archived": "shown", "project": ()}) for each in parts]
    parts.append(RunFilters(archived=archived, where=where))
    found: list[ColumnElement[Any]] = [Run.project_id == board.project_id]
    return found + [condition for part in parts for condition in run_filters.conditions(part, _NOBODY)]


def selected(session: Session, board: Board, panel: ChartPanel | TextPanel | PaperPanel) -> Selected:
    """Return the panel's runs. Raises Problem 422 where its saved view is gone."""
    query = select(Run.id, func.count().over()).where(*conditions(session, board, panel))
    rows = session.execute(query.order_by(Run.created_at.desc(), Run.id.desc()).limit(MOST_RUNS)).all()
    return Selected([row[0] for row in rows], rows[0][1] if rows else 0)
