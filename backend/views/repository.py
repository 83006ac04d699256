"""SQL of saved views."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from backend.models import SavedView, User


class ViewRow(NamedTuple):
    """A view and its author's name."""

    view: SavedView
    owner: str


def _query() -> Select[SavedView, str]:
    return select(SavedView, User.name).join(User, SavedView.owner_id == User.id)


def views(session: Session, project_id: str) -> list[ViewRow]:
    """All of a project by name."""
    query = _query().where(SavedView.project_id == project_id)
    query = query.order_by(func.lower(SavedView.name), SavedView.created_at)
    return [ViewRow(*row) for row in session.execute(query)]


def view(session: Session, view_id: str) -> ViewRow | None:
    """One view."""
    found = session.execute(_query().where(SavedView.id == view_id)).one_or_none()
    return None if found is None else ViewRow(*found)
