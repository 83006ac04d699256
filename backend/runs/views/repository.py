"""SQL of saved views."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from backend.kit.errors import existing
from backend.models import Project, SavedView, User


class ViewRow(NamedTuple):
    """A view, its author's name and its project's."""

    view: SavedView
    owner: str
    project: str


def _query() -> Select[SavedView, str, str]:
    return (
        select(SavedView, User.name, Project.name)
        .join(User, SavedView.owner_id == User.id)
        .join(Project, SavedView.project_id == Project.id)
    )


def views(session: Session) -> list[ViewRow]:
    """Return all saved views that the session sees, by name."""
    query = _query().order_by(func.lower(SavedView.name), SavedView.created_at)
    return [ViewRow(*row) for row in session.execute(query)]


def view(session: Session, view_id: str) -> ViewRow:
    """Return one view. Raises Problem 404."""
    found = session.execute(_query().where(SavedView.id == view_id)).one_or_none()
    return ViewRow(*existing(found, "view", view_id))
