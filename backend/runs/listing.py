"""Lists runs in pages: order, and the place where a page begins.

A cursor stays valid while runs come and go: it names the last row, not a number of rows. An offset serves a table that
jumps to any place; its rows move when runs come, and the table asks again when it hears of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVarTuple

from sqlalchemy import ColumnElement, Select, cast, extract, func, literal, select, tuple_
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION
from sqlalchemy.orm import Session
from sqlalchemy.types import DateTime, Text

from backend.kit.cursors import decode_texts, encode
from backend.kit.errors import Problem
from backend.models import Project, Run, RunGroup, User
from backend.runs import filters as run_filters
from backend.runs import usage
from backend.runs.repository import RunRow, completed, rows
from bapo.api.runs import RunFilters, RunQuery

Columns = TypeVarTuple("Columns")

NO_NUMBER = literal(float("-inf"), DOUBLE_PRECISION)
NO_TIME = literal(datetime(1, 1, 1, tzinfo=UTC), DateTime(timezone=True))

# Sorting by an expression that is never NULL lets one comparison of rows continue a page.
_NUMBERS = (
    *("step", "num_steps", "priority", "attempt", "num_rollouts", "reward_mean"),
    *("eval_base", "eval_latest", "eval_best", "eval_best_step"),
)
_TIMES = ("created_at", "started_at", "finished_at", "archived_at")
_TEXTS = ("name", "status", "method", "id")
_owner = select(User.name).where(User.id == Run.owner_id).scalar_subquery()
_group = select(RunGroup.name).where(RunGroup.id == Run.group_id).scalar_subquery()
_project = select(Project.name).where(Project.id == Run.project_id).scalar_subquery()
_seconds = extract("epoch", func.coalesce(Run.finished_at, func.now()) - Run.started_at)
SORTABLE: dict[str, ColumnElement[Any]] = {
    **{name: func.coalesce(cast(getattr(Run, name), DOUBLE_PRECISION), NO_NUMBER) for name in _NUMBERS},
    **{name: func.coalesce(getattr(Run, name), NO_TIME) for name in _TIMES},
    **{name: cast(getattr(Run, name), Text) for name in _TEXTS},
    "progress": cast(Run.step, DOUBLE_PRECISION) / func.greatest(Run.num_steps, 1),
    "eval_change": func.coalesce(Run.eval_latest - Run.eval_base, NO_NUMBER),
    "duration": func.coalesce(cast(_seconds, DOUBLE_PRECISION), NO_NUMBER),
    "compute_hours": func.coalesce(usage.hours_of(Run.id), NO_NUMBER),
    "owner": cast(_owner, Text),
    "project": cast(_project, Text),
    "group": func.coalesce(cast(_group, Text), ""),
    # Never NULL as it is, and so the index on it serves.
    "created_at": Run.created_at.expression,
}


@dataclass(frozen=True)
class RunRows:
    """A page of the list."""

    rows: list[RunRow]
    total: int
    next_cursor: str | None


def list_runs(session: Session, query: RunQuery, viewer_id: str) -> RunRows:
    """The runs after the cursor, or from the offset on.

    Raises Problem 422 for an unknown column, a cursor of another order, or a cursor together with an offset.
    """
    if query.cursor is not None and query.offset:
        remedy = "give either a cursor or an offset, not both"
        raise Problem(422, "invalid_request", remedy, field="offset", value=query.offset)
    column, is_descending = _order(query.sort)
    conditions = run_filters.conditions(query, viewer_id)
    if query.search and query.cursor is None:
        # A search reads every row: once must do.
        places = select(Run.id, cast(column, Text), func.count().over()).where(*conditions)
    else:
        total = select(func.count()).select_from(Run).where(*conditions).scalar_subquery()
        places = select(Run.id, cast(column, Text), total).where(*conditions)
    if query.cursor is not None:
        value, run_id = decode_texts(query.cursor, f"runs {query.sort}", 2)
        key, position = tuple_(column, Run.id), tuple_(cast(literal(value), column.type), literal(run_id))
        places = places.where(key < position if is_descending else key > position)
    # Only the place of a row decides what the page holds; the rows themselves are read once that is known.
    page = session.execute(_ordered(places, column, is_descending).offset(query.offset).limit(query.limit + 1)).all()
    num_matches = page[0][2] if page else 0
    if not page and (query.offset or query.cursor is not None):
        num_matches = session.scalars(select(func.count()).select_from(Run).where(*conditions)).one()
    has_more = len(page) > query.limit
    page = page[: query.limit]
    return RunRows(
        rows=rows_by_id(session, [row[0] for row in page], viewer_id),
        total=num_matches,
        next_cursor=encode(f"runs {query.sort}", [page[-1][1], page[-1][0]]) if has_more else None,
    )


def matching_ids(session: Session, filters: RunFilters, sort: str, viewer_id: str) -> list[str]:
    """All runs that the filters match, in order. Raises Problem 422 for an unknown column."""
    column, is_descending = _order(sort)
    query = select(Run.id).where(*run_filters.conditions(filters, viewer_id))
    return list(session.scalars(_ordered(query, column, is_descending)))


def _ordered(query: Select[*Columns], column: ColumnElement[Any], is_descending: bool) -> Select[*Columns]:
    return query.order_by(*([column.desc(), Run.id.desc()] if is_descending else [column.asc(), Run.id.asc()]))


def rows_by_id(session: Session, run_ids: Sequence[str], viewer_id: str) -> list[RunRow]:
    """The existing runs among these, in the given order, without their configs."""
    found = session.execute(rows(with_config=False).where(Run.id.in_(run_ids))).all()
    by_id = {row[0].id: RunRow(*row) for row in found}
    return completed(session, [by_id[run_id] for run_id in run_ids if run_id in by_id], viewer_id)


def check_sort(sort: str) -> None:
    """Raises Problem 422 for an unknown column."""
    _order(sort)


def _order(sort: str) -> tuple[ColumnElement[Any], bool]:
    name = sort.removeprefix("-")
    if name not in SORTABLE:
        remedy = f"sort by one of {', '.join(sorted(SORTABLE))}, with - before it for descending"
        raise Problem(422, "invalid_request", remedy, field="sort", value=sort)
    return SORTABLE[name], sort.startswith("-")
