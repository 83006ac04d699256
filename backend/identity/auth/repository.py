"""SQL of accounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from sqlalchemy import delete, exists, false, func, or_, select, true, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session as DbSession

from backend.identity.lookalikes import looks
from backend.kit.database import seconds_from_now
from backend.kit.principal import SYSTEM_NAME
from backend.models import ApiToken, LoginCode, Membership, Project, ProviderIdentity, Session, User, Worker
from bapo.api.accounts import Role, Scope

NOTED_USE = timedelta(minutes=1)
"""The last use of a token or session is noted this often."""


class TokenRow(NamedTuple):
    """A valid token and whose it is."""

    token: ApiToken
    user: User | None
    """`None` for workers, and where the user is disabled."""


def token(session: DbSession, secret_hash: str) -> TokenRow | None:
    """Return a token that is neither revoked nor expired."""
    is_stale = func.coalesce(ApiToken.last_used_at < func.now() - NOTED_USE, true())
    query = (
        select(ApiToken, User, is_stale)
        .join(User, (User.id == ApiToken.user_id) & User.disabled_at.is_(None), isouter=True)
        .where(ApiToken.secret_hash == secret_hash, ApiToken.revoked_at.is_(None))
        .where(or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > func.now()))
    )
    found = session.execute(query).one_or_none()
    if found is None:
        return None
    stored, user, stale = found
    if stale:
        session.execute(update(ApiToken).where(ApiToken.id == stored.id).values(last_used_at=func.now()))
    return TokenRow(stored, user)


def user(session: DbSession, user_id: str) -> User | None:
    """Return a user who is not disabled."""
    return session.scalars(select(User).where(User.id == user_id, User.disabled_at.is_(None))).one_or_none()


def session_user(session: DbSession, secret_hash: str) -> User | None:
    """Return the user of a login that has not expired."""
    query = (
        select(User, Session.last_seen_at < func.now() - NOTED_USE)
        .join(Session, Session.user_id == User.id)
        .where(Session.secret_hash == secret_hash, Session.expires_at > func.now(), User.disabled_at.is_(None))
    )
    found = session.execute(query).one_or_none()
    if found is None:
        return None
    user, stale = found
    if stale:
        session.execute(update(Session).where(Session.secret_hash == secret_hash).values(last_seen_at=func.now()))
    return user


def is_taken(session: DbSession, name: str) -> bool:
    """Return whether a name looks like that of a user, disabled or not, or of the server itself.

    Names may differ in capital letters, or in letters of another alphabet that look the same.
    """
    others = (SYSTEM_NAME, *session.scalars(select(User.name)))
    return any(name.lower() == other.lower() or looks(name) == looks(other) for other in others)


def lock_administrators(session: DbSession) -> Sequence[User]:
    """Return the administrators who are not disabled, held against every other change of theirs."""
    query = select(User).where(User.role == "admin", User.disabled_at.is_(None)).order_by(User.id).with_for_update()
    return session.scalars(query.execution_options(populate_existing=True)).all()


def projects(session: DbSession) -> Sequence[Project]:
    """Return all projects that the session sees, by name."""
    return session.scalars(select(Project).order_by(func.lower(Project.name), Project.id)).all()


def memberships(session: DbSession, user_id: str) -> Sequence[tuple[str, Role]]:
    """Return the projects of a user with the role in each."""
    query = select(Membership.project_id, Membership.role).where(Membership.user_id == user_id)
    found: Sequence[Any] = session.execute(query).all()
    return found


def set_membership(session: DbSession, project_id: str, user_id: str, role: Role, *, from_claim: bool = False) -> None:
    """Add a member, or change their role; `from_claim` where the provider of single sign-on says so."""
    query = insert(Membership).values(project_id=project_id, user_id=user_id, role=role, from_claim=from_claim)
    changes = {"role": role, "from_claim": from_claim}
    session.execute(query.on_conflict_do_update(constraint="pk_memberships", set_=changes))


def take_login_code(session: DbSession, secret_hash: str, purpose: str) -> str | None:
    """Use up a code that has not expired; the user that it is for. Of two callers at once one gets it."""
    query = delete(LoginCode).where(LoginCode.secret_hash == secret_hash, LoginCode.purpose == purpose)
    code = session.scalars(query.returning(LoginCode)).one_or_none()
    now: datetime = session.scalars(select(func.now())).one()
    return code.user_id if code is not None and code.expires_at > now else None


def owner_of_link(session: DbSession, secret_hash: str) -> User | None:
    """Return the user whose password a link's code sets, without using it up."""
    query = (
        select(User)
        .join(LoginCode, LoginCode.user_id == User.id)
        .where(LoginCode.secret_hash == secret_hash, LoginCode.purpose == "password")
        .where(LoginCode.expires_at > func.now(), User.disabled_at.is_(None))
    )
    return session.scalars(query).one_or_none()


def add_login_code(session: DbSession, secret_hash: str, user_id: str, seconds: float, purpose: str) -> None:
    """Store a new code, and forget the expired ones; of the links for a password the newest one is good."""
    session.execute(delete(LoginCode).where(LoginCode.expires_at < func.now()))
    if purpose == "password":
        session.execute(delete(LoginCode).where(LoginCode.user_id == user_id, LoginCode.purpose == purpose))
    session.add(
        LoginCode(secret_hash=secret_hash, user_id=user_id, expires_at=seconds_from_now(seconds), purpose=purpose)
    )


def add_session(
    session: DbSession, secret_hash: str, user_id: str, seconds: float, user_agent: str, id_token: str | None
) -> None:
    """Store a login, and forget the expired ones."""
    session.execute(delete(Session).where(Session.expires_at < func.now()))
    expires_at = seconds_from_now(seconds)
    session.add(
        Session(
            secret_hash=secret_hash, user_id=user_id, expires_at=expires_at, user_agent=user_agent, id_token=id_token
        )
    )


def sessions(session: DbSession, user_id: str) -> Sequence[Session]:
    """Return a user's logins, the latest first."""
    query = select(Session).where(Session.user_id == user_id, Session.expires_at > func.now())
    return session.scalars(query.order_by(Session.last_seen_at.desc(), Session.created_at.desc())).all()


def end_sessions(session: DbSession, user_id: str, *, but: str | None = None, only: str | None = None) -> int:
    """End a user's logins: all but the one of this secret's hash, or only the one of this identifier; how many."""
    query = delete(Session).where(Session.user_id == user_id, Session.secret_hash != (but or ""))
    if only is not None:
        query = query.where(Session.id == only)
    return len(session.scalars(query.returning(Session.id)).all())


def end_login_codes(session: DbSession, user_id: str) -> None:
    """Revoke a user's one-time links."""
    session.execute(delete(LoginCode).where(LoginCode.user_id == user_id))


def user_named(session: DbSession, name: str) -> User | None:
    """Return a user who is not disabled."""
    return session.scalars(select(User).where(User.name == name, User.disabled_at.is_(None))).one_or_none()


def has_password(session: DbSession, user_id: str) -> bool:
    """Return whether the user can log in with a password."""
    return session.scalars(select(User.password_hash.is_not(None)).where(User.id == user_id)).one()


def has_identity(session: DbSession, user_id: str) -> bool:
    """Return whether the user has signed in by single sign-on."""
    return session.scalars(select(exists().where(ProviderIdentity.user_id == user_id))).one()


def tokens(session: DbSession, kind: str, user_id: str | None) -> Sequence[tuple[ApiToken, bool]]:
    """Return tokens of a user or of workers that are not revoked, newest first, and whether they have expired."""
    expired = func.coalesce(ApiToken.expires_at <= func.now(), false())
    query = select(ApiToken, expired).where(ApiToken.kind == kind, ApiToken.revoked_at.is_(None))
    if user_id is not None:
        query = query.where(ApiToken.user_id == user_id)
    found: Sequence[Any] = session.execute(query.order_by(ApiToken.created_at.desc(), ApiToken.id)).all()
    return found


def revoke_tokens(
    session: DbSession, kind: str, *, user_id: str | None = None, only: str | None = None, but: str | None = None
) -> Sequence[ApiToken]:
    """End tokens of a user or of workers: all, all but the one of this secret's hash, or one; those that ended."""
    query = update(ApiToken).where(ApiToken.kind == kind, ApiToken.revoked_at.is_(None))
    if user_id is not None:
        query = query.where(ApiToken.user_id == user_id)
    if only is not None:
        query = query.where(ApiToken.id == only)
    if but is not None:
        query = query.where(ApiToken.secret_hash != but)
    return session.scalars(query.values(revoked_at=func.now()).returning(ApiToken)).all()


def remove_session(session: DbSession, secret_hash: str) -> str | None:
    """Forget a login; its ID token where it was one by single sign-on."""
    query = delete(Session).where(Session.secret_hash == secret_hash).returning(Session.id_token)
    return session.scalars(query).one_or_none()


def ensure_project(session: DbSession, name: str) -> Project:
    """Return the oldest project; one of that name is made where there is none at all."""
    oldest = select(Project).order_by(Project.created_at, Project.id).limit(1)
    found = session.scalars(oldest).one_or_none()
    if found is None:
        session.execute(insert(Project).values(name=name).on_conflict_do_nothing(index_elements=[Project.name]))
        found = session.scalars(oldest).one()
    return found


def ensure_user(session: DbSession, name: str, role: str) -> User:
    """Return the user of that name, made where missing."""
    session.execute(insert(User).values(name=name, role=role).on_conflict_do_nothing(index_elements=[User.name]))
    return session.scalars(select(User).where(User.name == name)).one()


def ensure_token(
    session: DbSession,
    *,
    name: str,
    kind: str,
    secret_hash: str,
    user_id: str | None,
    scopes: Sequence[Scope | Literal["work"]],
    prefix: str = "",
) -> None:
    """Make this the only valid token of that name and kind."""
    session.execute(
        update(ApiToken)
        .where(ApiToken.name == name, ApiToken.kind == kind, ApiToken.secret_hash != secret_hash)
        .where(ApiToken.revoked_at.is_(None))
        .values(revoked_at=func.now())
    )
    values = {
        "name": name,
        "kind": kind,
        "secret_hash": secret_hash,
        "user_id": user_id,
        "scopes": list(scopes),
        "prefix": prefix,
    }
    session.execute(
        insert(ApiToken)
        .values(values)
        .on_conflict_do_update(index_elements=[ApiToken.secret_hash], set_={"revoked_at": None})
    )


def workers_of(session: DbSession, token_ids: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the names of the workers that registered with each token."""
    found: dict[str, list[str]] = {}
    query = select(Worker.token_id, Worker.name).where(Worker.token_id.in_(token_ids)).order_by(Worker.name)
    for token_id, name in session.execute(query):
        found.setdefault(token_id, []).append(name)
    return found
