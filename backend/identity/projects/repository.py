"""SQL of projects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from backend.identity.lookalikes import looks
from backend.models import Membership, Project, Run, User


def oldest(session: Session) -> Project | None:
    """Return the first project, where the session sees it."""
    first = select(Project.id).order_by(Project.created_at, Project.id).limit(1).execution_options(all_projects=True)
    return session.scalars(select(Project).where(Project.id == session.scalars(first).one())).one_or_none()


def get(session: Session, project_id: str) -> Project | None:
    """Return one project, where the session sees it."""
    return session.scalars(select(Project).where(Project.id == project_id)).one_or_none()


def named(session: Session, name: str) -> Project | None:
    """Return the project of that name, where the session sees it."""
    return session.scalars(select(Project).where(Project.name == name)).one_or_none()


def is_taken(session: Session, name: str, *, but: str | None) -> bool:
    """Return whether any other project has the name, or one that differs from it in case or alphabet only."""
    query = select(Project.name) if but is None else select(Project.name).where(Project.id != but)
    others = session.scalars(query.execution_options(all_projects=True))
    return any(name.lower() == other.lower() or looks(name) == looks(other) for other in others)


def num_runs(session: Session, project_ids: Sequence[str]) -> Mapping[str, int]:
    """Return the number of runs by project."""
    query = select(Run.project_id, func.count()).where(Run.project_id.in_(project_ids)).group_by(Run.project_id)
    return dict(session.execute(query).all())


def num_members(session: Session, project_ids: Sequence[str]) -> Mapping[str, int]:
    """Return the number of members by project."""
    query = select(Membership.project_id, func.count()).where(Membership.project_id.in_(project_ids))
    return dict(session.execute(query.group_by(Membership.project_id)).all())


def members(session: Session, project_id: str) -> Sequence[tuple[User, str]]:
    """Return the members of a project with their roles, by name."""
    query = (
        select(User, Membership.role)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.project_id == project_id)
        .order_by(func.lower(User.name), User.id)
    )
    return [(user, role) for user, role in session.execute(query)]


def remove_member(session: Session, project_id: str, user_id: str) -> str | None:
    """End a membership; what it was."""
    query = delete(Membership).where(Membership.project_id == project_id, Membership.user_id == user_id)
    return session.scalars(query.returning(Membership.role)).one_or_none()
