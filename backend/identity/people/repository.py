"""SQL of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import func, select, union_all
from sqlalchemy.orm import Session as DbSession

from backend.models import ApiToken, Membership, Project, ProviderIdentity, Session, User
from bapo.api.accounts import MembershipInfo


def people(session: DbSession) -> Sequence[User]:
    """Return all users by name."""
    return session.scalars(select(User).order_by(func.lower(User.name), User.id)).all()


def get(session: DbSession, user_id: str) -> User | None:
    """Return one user."""
    return session.get(User, user_id)


def projects_of(session: DbSession, user_ids: Sequence[str]) -> Mapping[str, list[MembershipInfo]]:
    """Return the memberships by user, by name of the project."""
    query = (
        select(Membership.user_id, Membership.role, Project)
        .join(Project, Project.id == Membership.project_id)
        .where(Membership.user_id.in_(user_ids))
        .order_by(func.lower(Project.name), Project.id)
    )
    found: dict[str, list[MembershipInfo]] = {}
    for user_id, role, project in session.execute(query):
        info = {"id": project.id, "name": project.name, "role": role, "is_archived": project.archived_at is not None}
        found.setdefault(user_id, []).append(MembershipInfo.model_validate(info))
    return found


def identities_of(session: DbSession, user_ids: Sequence[str]) -> Mapping[str, list[ProviderIdentity]]:
    """Return the identities at providers of single sign-on by user, the latest login first."""
    query = (
        select(ProviderIdentity)
        .where(ProviderIdentity.user_id.in_(user_ids))
        .order_by(ProviderIdentity.last_login_at.desc())
    )
    found: dict[str, list[ProviderIdentity]] = {}
    for identity in session.scalars(query):
        found.setdefault(identity.user_id, []).append(identity)
    return found


def last_seen(session: DbSession, user_ids: Sequence[str]) -> Mapping[str, datetime]:
    """Return the latest use of a session or token, by user."""
    uses = union_all(
        select(Session.user_id.label("user_id"), Session.last_seen_at.label("at")),
        select(ApiToken.user_id, ApiToken.last_used_at).where(ApiToken.last_used_at.is_not(None)),
    ).subquery()
    query = select(uses.c.user_id, func.max(uses.c.at)).where(uses.c.user_id.in_(user_ids)).group_by(uses.c.user_id)
    return dict(session.execute(query).all())
