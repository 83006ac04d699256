"""A page of runs: filters, order, and a cursor that stays valid while runs come and go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, cast, func, literal, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION
from sqlalchemy.orm import Session
from sqlalchemy.types import DateTime, Text

from backend.cursors import decode_texts, encode
from backend.errors import Problem
from backend.models import Run, RunGroup
from backend.runs.repository import RunRow, rows
from bapo.api import RunStatus

NO_NUMBER = literal(float("-inf"), DOUBLE_PRECISION)
NO_TIME = literal(datetime(1, 1, 1, tzinfo=UTC), DateTime(timezone=True))

# Sorting by an expression that is never NULL lets one comparison of rows continue a page.
_NUMBERS = ("step", "num_steps", "priority", "num_rollouts", "reward_mean", "eval_base", "eval_latest")
_TIMES = ("created_at", "started_at", "finished_at")
_TEXTS = ("name", "status", "method", "id")
SORTABLE: dict[str, ColumnElement[Any]] = {
    **{name: func.coalesce(cast(getattr(Run, name), DOUBLE_PRECISION), NO_NUMBER) for name in _NUMBERS},
    **{name: func.coalesce(getattr(Run, name), NO_TIME) for name in _TIMES},
    **{name: cast(getattr(Run, name), Text) for name in _TEXTS},
    # Never NULL as it is, and so the index on it serves.
    "created_at": Run.created_at.expression,
}


@dataclass(frozen=True)
class RunFilter:
    """Which runs, in which order."""

    project_id: str
    status: Sequence[RunStatus]
    method: Sequence[str]
    tag: Sequence[str]
    """All of them."""
    group: str | None
    search: str | None
    sort: str
    """A column, with `-` before it for descending."""


@dataclass(frozen=True)
class RunRows:
    """A page of the list."""

    rows: list[RunRow]
    total: int
    next_cursor: str | None


def list_runs(session: Session, filters: RunFilter, cursor: str | None, limit: int) -> RunRows:
    """The runs after the cursor. Raises Problem 422 for an unknown column or a cursor of another order."""
    column, is_descending = _order(filters.sort)
    conditions = list(_conditions(filters))
    total = session.scalars(select(func.count()).select_from(Run).where(*conditions)).one()
    query = rows().where(*conditions)
    key = tuple_(column, Run.id)
    if cursor is not None:
        value, run_id = decode_texts(cursor, f"runs {filters.sort}", 2)
        position = tuple_(cast(literal(value), column.type), literal(run_id))
        query = query.where(key < position if is_descending else key > position)
    order = [column.desc(), Run.id.desc()] if is_descending else [column.asc(), Run.id.asc()]
    found = session.execute(
        query.add_columns(cast(column, Text).label("position")).order_by(*order).limit(limit + 1)
    ).all()
    page = found[:limit]
    has_more = len(found) > limit
    return RunRows(
        rows=[RunRow(run, owner, group) for run, owner, group, _ in page],
        total=total,
        next_cursor=encode(f"runs {filters.sort}", [page[-1][3], page[-1][0].id]) if has_more else None,
    )


def _order(sort: str) -> tuple[ColumnElement[Any], bool]:
    name = sort.removeprefix("-")
    if name not in SORTABLE:
        raise Problem(
            422,
            "invalid_request",
            f"sort by one of {', '.join(sorted(SORTABLE))}, with - before it for descending",
            field="sort",
            value=sort,
        )
    return SORTABLE[name], sort.startswith("-")


def _conditions(filters: RunFilter) -> Sequence[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [Run.project_id == filters.project_id]
    if filters.status:
        conditions.append(Run.status.in_(filters.status))
    if filters.method:
        conditions.append(Run.method.in_(filters.method))
    if filters.tag:
        conditions.append(Run.tags.contains(cast(list(filters.tag), ARRAY(Text))))
    if filters.group is not None:
        group = select(RunGroup.id).where(RunGroup.name == filters.group)
        conditions.append(Run.group_id.in_(group))
    if filters.search:
        words = filters.search.split()
        conditions.append(and_(*(_matches(word) for word in words)))
    return conditions


def _matches(word: str) -> ColumnElement[bool]:
    tags = func.array_to_string(Run.tags, " ")
    columns = (Run.name, Run.id, Run.notes, tags)
    # `icontains` escapes % and _.
    found = columns[0].icontains(word, autoescape=True)
    for column in columns[1:]:
        found = found | column.icontains(word, autoescape=True)
    return found
