"""SQL of accounts."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session as DbSession

from backend.models import ApiToken, LoginCode, Project, Session, User


def token(session: DbSession, secret_hash: str) -> ApiToken | None:
    """A token that is not revoked."""
    query = select(ApiToken).where(ApiToken.secret_hash == secret_hash, ApiToken.revoked_at.is_(None))
    return session.scalars(query).one_or_none()


def user(session: DbSession, user_id: str) -> User | None:
    """A user who is not disabled."""
    return session.scalars(select(User).where(User.id == user_id, User.disabled_at.is_(None))).one_or_none()


def session_user(session: DbSession, secret_hash: str) -> User | None:
    """The user of a login that has not expired."""
    query = (
        select(User)
        .join(Session, Session.user_id == User.id)
        .where(Session.secret_hash == secret_hash, Session.expires_at > func.now(), User.disabled_at.is_(None))
    )
    return session.scalars(query).one_or_none()


def take_login_code(session: DbSession, secret_hash: str) -> str | None:
    """Use up a code that has not expired; the user that it is for. Of two callers at once one gets it."""
    query = delete(LoginCode).where(LoginCode.secret_hash == secret_hash).returning(LoginCode)
    code = session.scalars(query).one_or_none()
    now: datetime = session.scalars(select(func.now())).one()
    return code.user_id if code is not None and code.expires_at > now else None


def add_login_code(session: DbSession, secret_hash: str, user_id: str, seconds: float) -> None:
    """Store a new code, and forget the expired ones."""
    session.execute(delete(LoginCode).where(LoginCode.expires_at < func.now()))
    session.add(LoginCode(secret_hash=secret_hash, user_id=user_id, expires_at=_after(seconds)))


def add_session(session: DbSession, secret_hash: str, user_id: str, seconds: float) -> None:
    """Store a login, and forget the expired ones."""
    session.execute(delete(Session).where(Session.expires_at < func.now()))
    session.add(Session(secret_hash=secret_hash, user_id=user_id, expires_at=_after(seconds)))


def remove_session(session: DbSession, secret_hash: str) -> None:
    """Forget a login."""
    session.execute(delete(Session).where(Session.secret_hash == secret_hash))


def ensure_project(session: DbSession, name: str) -> Project:
    """The project of that name, made where missing."""
    session.execute(insert(Project).values(name=name).on_conflict_do_nothing(index_elements=[Project.name]))
    return session.scalars(select(Project).where(Project.name == name)).one()


def ensure_user(session: DbSession, name: str, role: str) -> User:
    """The user of that name, made where missing."""
    session.execute(insert(User).values(name=name, role=role).on_conflict_do_nothing(index_elements=[User.name]))
    return session.scalars(select(User).where(User.name == name)).one()


def ensure_token(session: DbSession, *, name: str, kind: str, secret_hash: str, user_id: str | None) -> None:
    """Make this the only valid token of that name and kind."""
    session.execute(
        update(ApiToken)
        .where(ApiToken.name == name, ApiToken.kind == kind, ApiToken.secret_hash != secret_hash)
        .where(ApiToken.revoked_at.is_(None))
        .values(revoked_at=func.now())
    )
    values = {"name": name, "kind": kind, "secret_hash": secret_hash, "user_id": user_id}
    session.execute(
        insert(ApiToken)
        .values(values)
        .on_conflict_do_update(index_elements=[ApiToken.secret_hash], set_={"revoked_at": None})
    )


def _after(seconds: float) -> object:
    return func.now() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)
