"""Makes, changes and deletes boards. Members of the project do; a change says which version it was made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from backend.boards import repository, selection
from backend.boards.numbers import check_text
from backend.boards.repository import BoardRow
from backend.identity.audit.repository import add_audit
from backend.identity.projects import choice
from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.models import Board
from bapo.api.boards import (
    AS_THE_PAPER,
    MOST_PANELS,
    BoardChange,
    BoardCreate,
    BoardInfo,
    BoardSummary,
    BoardWrite,
    Panel,
    PaperPanel,
    TextPanel,
)

_AS_THE_PAPER_TEXT = """## As the paper

The figures and tables of arXiv:2602.20722, of this board's runs, in the paper's order and with its numbering. They
follow the runs: {{count}} now, of which {{count of status = running, starting}} train. Best held-out accuracy:
{{last eval_best as percent}}.
"""

_TEMPLATES: Mapping[str, Sequence[Panel]] = {
    AS_THE_PAPER: (
        TextPanel(id="paper-introduction", text=_AS_THE_PAPER_TEXT),
        PaperPanel(id="paper"),
    )
}
"""Panels that a new board can begin with."""


def summary(row: BoardRow, caller: Principal) -> BoardSummary:
    """Return a row of the list."""
    may_change = caller.may_write_in(row.board.project_id)
    return rendered(BoardSummary, row, row.board, num_panels=len(row.board.panels), may_change=may_change)


def info(row: BoardRow, caller: Principal) -> BoardInfo:
    """Return a board as this caller sees it."""
    stored = _stored(row.board)
    return rendered(BoardInfo, summary(row, caller), filters=stored.filters, panels=stored.panels)


def create(session: Session, body: BoardCreate, caller: Principal) -> BoardRow:
    """Create a board. Raises Problem 422 naming an invalid panel, 403 if the caller may only read."""
    project = choice.for_new(session, caller, body.project)
    if body.template is not None:
        taken = {each.id for each in body.panels}
        body = body.model_copy(
            update={"panels": [*(p for p in _TEMPLATES[body.template] if p.id not in taken), *body.panels]}
        )
    board = Board(project_id=project.id, name="", author=caller.name, updated_by=caller.name)
    _store(session, board, body)
    session.add(board)
    session.flush()
    add_audit(session, None, caller.name, "board_created", {"board_id": board.id, "name": board.name})
    return BoardRow(board, project.name, 0)


def replace(session: Session, board_id: str, body: BoardChange, caller: Principal) -> BoardRow:
    """Save another version. Raises Problem 409 if another user has saved one meanwhile, 404, 403 and 422."""
    row = for_change(session, board_id, caller)
    board = row.board
    if body.version != board.version:
        remedy = (
            f"{board.updated_by} has saved version {board.version} of this board since you opened version "
            f"{body.version}: load it, and make your change there"
        )
        raise Problem(409, "board_changed", remedy, field="version", value=body.version)
    _store(session, board, body)
    board.version += 1
    board.updated_by, board.updated_at = caller.name, clock(session)
    session.flush()
    detail = {"board_id": board.id, "name": board.name, "version": board.version}
    add_audit(session, None, caller.name, "board_changed", detail)
    return row


def delete(session: Session, board_id: str, caller: Principal) -> None:
    """Delete it and its links. Raises Problem 404 and 403."""
    board = for_change(session, board_id, caller).board
    add_audit(session, None, caller.name, "board_deleted", {"board_id": board.id, "name": board.name})
    session.delete(board)


def for_change(session: Session, board_id: str, caller: Principal) -> BoardRow:
    """Return the board, held against other changes. Raises Problem 404, and 403 where the caller may only look."""
    repository.lock(session, board_id)
    return writable(session, board_id, caller)


def writable(session: Session, board_id: str, caller: Principal) -> BoardRow:
    """Return the board. Raises Problem 404, and 403 where the caller may only look."""
    row = repository.board(session, board_id)
    if not caller.may_write_in(row.board.project_id):
        remedy = f"you may only look at boards of {row.project}: ask one of its administrators"
        raise Problem(403, "forbidden", remedy, field="id", value=board_id)
    return row


def panels_of(board: Board) -> Sequence[Panel]:
    """Return the panels as they are stored."""
    return _stored(board).panels


def _stored(board: Board) -> BoardWrite:
    # What this version does not know is left out.
    content = {"name": board.name, "filters": board.filters, "panels": board.panels}
    return BoardWrite.model_validate(content, extra="ignore")


def panel_of(board: Board, panel_id: str) -> Panel:
    """Return one panel. Raises Problem 404."""
    found = next((each for each in panels_of(board) if each.id == panel_id), None)
    if found is None:
        raise Problem(404, "not_found", f"the board has no panel {panel_id!r}, or no longer: load it again")
    return found


def _store(session: Session, board: Board, body: BoardWrite) -> None:
    if len(body.panels) > MOST_PANELS:
        raise Problem(422, "invalid_request", f"a board has at most {MOST_PANELS} panels: make another", field="panels")
    selection.check_filters(body.filters, "filters")
    seen: set[str] = set()
    for index, panel in enumerate(body.panels):
        field = f"panels.{index}"
        if panel.id in seen:
            remedy = "another panel of the board has this id: give each its own"
            raise Problem(422, "invalid_request", remedy, field=f"{field}.id", value=panel.id)
        seen.add(panel.id)
        selection.check_filters(panel.filters, f"{field}.filters")
        if panel.view is not None:
            _check_view(session, board, panel.view, field)
        if isinstance(panel, TextPanel):
            check_text(panel.text, f"{field}.text")
    board.name = body.name
    board.filters = body.filters.model_dump(mode="json", exclude_defaults=True)
    board.panels = [{"kind": each.kind, **each.model_dump(mode="json", exclude_defaults=True)} for each in body.panels]


def _check_view(session: Session, board: Board, view_id: str, field: str) -> None:
    try:
        selection.view_filters(session, board.project_id, view_id)
    except Problem as problem:
        raise Problem(422, problem.code, problem.remedy, field=f"{field}.view", value=view_id) from None
