"""SQL of projects."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import Project


def oldest(session: Session) -> Project | None:
    """The first project, where the session sees it."""
    first = select(Project.id).order_by(Project.created_at, Project.id).limit(1).execution_options(all_projects=True)
    return session.scalars(select(Project).where(Project.id == session.scalars(first).one())).one_or_none()
