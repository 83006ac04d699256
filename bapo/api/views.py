"""Views of the run list that somebody keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from bapo.api.base import Body, Text
from bapo.api.runs import RunFilters


class ViewWrite(Body):
    """Filters, order and columns under a name."""

    name: Text = Field(min_length=1, max_length=100, examples=["BAPO, failed this week"])
    filters: RunFilters = RunFilters()
    sort: Text = Field(default="-created_at", max_length=100)
    columns: Sequence[Text] = Field(default=(), max_length=100)
    """Names of the columns shown, in their order; none: the usual ones."""
    project: Text | None = Field(default=None, max_length=200)
    """Whose members can open it; empty: the caller's only one, or the first."""


class ViewInfo(ViewWrite):
    """A view that everybody in the project can open, and its author change."""

    id: str
    owner: str
    is_own: bool
    """Whether the caller may change it."""
    created_at: datetime
    updated_at: datetime


class ViewPage(Body):
    """All views by name."""

    items: Sequence[ViewInfo]
    next_cursor: str | None = None
