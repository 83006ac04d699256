"""Saved views of the run list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from bapo.api.base import Body, Name, Text
from bapo.api.runs import SORT_CHARACTERS, ColumnName, RunFilters


class ViewWrite(Body):
    """A named view: filters, order and columns."""

    name: Name = Field(min_length=1, max_length=100, examples=["BAPO, failed this week"])
    filters: RunFilters = RunFilters()
    sort: Text = Field(default="-created_at", max_length=SORT_CHARACTERS)
    columns: Sequence[Text] = Field(default=(), max_length=100)
    """Names of the columns in order; empty: the default columns."""
    project: Text | None = Field(default=None, max_length=200)
    """Project whose members can open it; empty: the caller's only or first one."""


class ViewInfo(ViewWrite):
    """A saved view. Everybody in the project can open it; its author may change it."""

    id: str
    name: str
    owner: str
    is_own: bool
    """True if the caller may change it."""
    created_at: datetime
    updated_at: datetime


class ViewPage(Body):
    """All views by name."""

    items: Sequence[ViewInfo]
    next_cursor: str | None = None


class LayoutColumn(Body):
    """Column of a user's run list."""

    name: ColumnName
    width: int | None = Field(default=None, ge=30, le=2_000)
    """Pixels; null: the usual width."""


class RunListLayout(Body):
    """Columns and order of a user's run list, for windows of one kind."""

    columns: Sequence[LayoutColumn] | None = Field(default=None, max_length=100)
    """Columns that are shown, in their order; null: those that fit the window."""
    sort: Text | None = Field(default=None, max_length=SORT_CHARACTERS)
    """Null: the newest first."""


class RunListLayouts(Body):
    """Layouts of a user's run list, for every browser."""

    wide: RunListLayout = RunListLayout()
    narrow: RunListLayout = RunListLayout()
    """On windows as narrow as a phone."""
