"""Authenticates callers, and begins sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from backend.identity.auth import repository
from backend.kit.principal import Principal, hash_of, new_secret
from backend.models import User
from bapo.api.accounts import RANK, MembershipInfo, Role, Scope, UserInfo


def authenticate(session: Session, secret_hash: str) -> Principal | None:
    """Return the owner of this token or login."""
    found = repository.token(session, secret_hash)
    if found is not None:
        token, user = found
        if token.kind == "worker":
            return Principal(token.id, token.name, "worker", secret_hash, None)
        scopes: frozenset[Scope] = frozenset(token.scopes)  # type: ignore[arg-type]
        return None if user is None else _principal(session, user, secret_hash, scopes)
    user = repository.session_user(session, secret_hash)
    return None if user is None else _principal(session, user, secret_hash, None)


def user_info(session: Session, caller: Principal) -> UserInfo:
    """Return the caller as the API shows it."""
    assert caller.role != "worker", "a worker's token opens only the worker's routes"
    found = []
    for project in repository.projects(session):
        role = caller.role_in(project.id)
        if role is not None:
            found.append(
                MembershipInfo(id=project.id, name=project.name, role=role, is_archived=project.archived_at is not None)
            )
    return UserInfo(
        id=caller.id,
        name=caller.name,
        role=caller.role,
        projects=found,
        may_manage_account=caller.is_whole,
        has_password=repository.has_password(session, caller.id),
        has_single_sign_on=repository.has_identity(session, caller.id),
    )


def owner_of(session: Session, *, code: str | None, token: str | None) -> User | None:
    """Return the user that a one-time code, which is used up, or a user's token logs in."""
    if code is not None:
        user_id = repository.take_login_code(session, hash_of(code), "login")
        return None if user_id is None else repository.user(session, user_id)
    stored = None if token is None else repository.token(session, hash_of(token))
    # A login may do all that its owner may: a token that may do less buys none.
    return None if stored is None or "admin" not in stored.token.scopes else stored.user


@dataclass(frozen=True)
class Visit:
    """Duration of a login, and the browser that requested it."""

    seconds: float
    user_agent: str
    former_secret: str | None
    """Secret of the session that the browser had before."""
    id_token: str | None = None
    """ID token of a login by single sign-on; empty if it is too long to be sent back."""


def begin_session(session: Session, user: User, visit: Visit) -> tuple[Principal, str]:
    """Return the user and the secret of a new login, whatever the browser had before."""
    if visit.former_secret is not None:
        repository.remove_session(session, hash_of(visit.former_secret))
    secret = new_secret()
    repository.add_session(session, hash_of(secret), user.id, visit.seconds, visit.user_agent, visit.id_token)
    return _principal(session, user, hash_of(secret), None), secret


def new_login_code(
    session: Session, user: User, seconds: float, purpose: Literal["login", "password"] = "login"
) -> str:
    """Return a code that logs this user in once, or lets them set a password once."""
    code = new_secret()
    repository.add_login_code(session, hash_of(code), user.id, seconds, purpose)
    return code


def _least(*roles: Role) -> Role:
    return min(roles, key=lambda role: RANK[role])


def _most(scopes: frozenset[Scope] | None) -> Role:
    """Return the most that a token with these scopes may do."""
    if scopes is None or "admin" in scopes:
        return "admin"
    return "member" if "write" in scopes else "viewer"


def _principal(session: Session, user: User, secret_hash: str, scopes: frozenset[Scope] | None) -> Principal:
    role: Role = user.role  # type: ignore[assignment]  # the table's check constraint
    most = _most(scopes)
    if role == "admin":
        memberships = None
    else:
        # A viewer is one everywhere; a member may be an administrator of a project.
        cap = _least(most, "viewer") if role == "viewer" else most
        memberships = {
            project_id: _least(in_project, cap) for project_id, in_project in repository.memberships(session, user.id)
        }
    return Principal(user.id, user.name, _least(role, most), secret_hash, memberships, scopes)
