"""Lists runs in pages: order, and the place where a page begins.

A cursor stays valid while runs come and go: it names the last row, not a number of rows. An offset serves a table that
jumps to any place; its rows move when runs come, and the table asks again when it hears of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVarTuple

from sqlalchemy import ColumnElement, Select, cast, func, literal, select, tuple_
from sqlalchemy.orm import Session
from sqlalchemy.types import Text

from backend.kit.cursors import decode_texts, encode
from backend.kit.errors import Problem
from backend.models import Run
from backend.runs import columns
from backend.runs import filters as run_filters
from backend.runs.held_out import num_sets
from backend.runs.repository import RunRow, completed, rows
from bapo.api.runs import RunFilters, RunQuery

Columns = TypeVarTuple("Columns")


@dataclass(frozen=True)
class RunRows:
    """A page of the list."""

    rows: list[RunRow]
    total: int
    next_cursor: str | None
    num_sets: int | None
    """Number of held-out sets behind the accuracies that order all matches, if there are several."""


def list_runs(session: Session, query: RunQuery, viewer_id: str) -> RunRows:
    """Return the runs after the cursor, or from the offset on.

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
    sets = num_sets(session, query.sort.removeprefix("-"), conditions)
    has_more = len(page) > query.limit
    page = page[: query.limit]
    return RunRows(
        rows=rows_by_id(session, [row[0] for row in page], viewer_id, query.columns),
        total=num_matches,
        next_cursor=encode(f"runs {query.sort}", [page[-1][1], page[-1][0]]) if has_more else None,
        num_sets=sets if sets > 1 else None,
    )


def matching_ids(session: Session, filters: RunFilters, sort: str, viewer_id: str) -> list[str]:
    """Return all runs that the filters match, in order. Raises Problem 422 for an unknown column."""
    column, is_descending = _order(sort)
    query = select(Run.id).where(*run_filters.conditions(filters, viewer_id))
    return list(session.scalars(_ordered(query, column, is_descending)))


def _ordered(query: Select[*Columns], column: ColumnElement[Any], is_descending: bool) -> Select[*Columns]:
    return query.order_by(*([column.desc(), Run.id.desc()] if is_descending else [column.asc(), Run.id.asc()]))


def rows_by_id(session: Session, run_ids: Sequence[str], viewer_id: str, recorded: Sequence[str] = ()) -> list[RunRow]:
    """Return the existing runs among these, in the given order, without their configs but with these fields and
    metrics.

    Raises Problem 422 for a column that is neither.
    """
    found = session.execute(rows(with_config=False).where(Run.id.in_(run_ids))).all()
    by_id = {row[0].id: RunRow(*row) for row in found}
    present = [by_id[run_id] for run_id in run_ids if run_id in by_id]
    values = _values(session, [row.run.id for row in present], recorded)
    return [row._replace(values=values.get(row.run.id, {})) for row in completed(session, present, viewer_id)]


def _values(session: Session, run_ids: Sequence[str], recorded: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the values of these columns by run; columns without a value are left out."""
    names = list(dict.fromkeys(recorded))
    for name in names:
        if not columns.is_recorded(name):
            remedy = "every row has the built-in columns: ask for config.FIELD and metric.KEY alone"
            raise Problem(422, "invalid_request", remedy, field="columns", value=name)
    if not names or not run_ids:
        return {}
    query = select(Run.id, *(columns.column(name, "columns").expression for name in names)).where(Run.id.in_(run_ids))
    return {
        run_id: {name: value for name, value in zip(names, found, strict=True) if value is not None}
        for run_id, *found in session.execute(query)
    }


def check_sort(sort: str) -> None:
    """Raise Problem 422 for an unknown column."""
    _order(sort)


def _order(sort: str) -> tuple[ColumnElement[Any], bool]:
    return columns.column(sort.removeprefix("-"), "sort").expression, sort.startswith("-")
