"""Creates, changes and disables users; keeps the last administrator."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.identity.auth import repository as accounts
from backend.identity.auth.service import new_login_code
from backend.identity.people import repository
from backend.identity.projects import service as projects
from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem, existing
from backend.kit.principal import Principal
from backend.models import User
from backend.settings.environment import Settings
from bapo.api.people import IdentityInfo, NewPerson, PasswordLink, PersonCreate, PersonInfo, PersonUpdate

LINK_PATH = "/set-password"


def infos(session: Session, users: Sequence[User]) -> list[PersonInfo]:
    """Return the users as the API shows them."""
    ids = [user.id for user in users]
    memberships, seen = repository.projects_of(session, ids), repository.last_seen(session, ids)
    identities = repository.identities_of(session, ids)
    return [
        rendered(
            PersonInfo,
            user,
            last_seen_at=seen.get(user.id),
            has_password=user.password_hash is not None,
            identities=[rendered(IdentityInfo, each) for each in identities.get(user.id, ())],
            projects=memberships.get(user.id, []),
        )
        for user in users
    ]


def create(session: Session, body: PersonCreate, caller: Principal, settings: Settings) -> NewPerson:
    """Return a user and the link with which they set a password. Raises Problem 409 for a name that is taken, 422."""
    if accounts.is_taken(session, body.name):
        remedy = "this name is taken, or looks like another: choose one that differs in more than case or alphabet"
        raise Problem(409, "name_taken", remedy, field="name", value=body.name)
    user = User(name=body.name, role=body.role, email=body.email)
    session.add(user)
    session.flush()
    for position, wanted in enumerate(body.projects):
        project = projects.named(session, wanted.project, field=f"projects.{position}.project")
        accounts.set_membership(session, project.id, user.id, wanted.role)
    detail: dict[str, Any] = {"name": body.name, "role": body.role}
    detail["projects"] = [each.model_dump() for each in body.projects]
    if body.email is not None:
        detail["email"] = body.email
    add_audit(session, None, caller.name, "person_created", detail)
    link = _link(session, user, settings)
    session.refresh(user)
    return NewPerson(**infos(session, [user])[0].model_dump(), link=link)


def link(session: Session, user_id: str, caller: Principal, settings: Settings) -> PasswordLink:
    """Return a new link for a forgotten password; earlier ones are worthless. Raises Problem 404, and 409 when
    disabled."""
    user = get(session, user_id)
    if user.disabled_at is not None:
        raise Problem(409, "disabled", f"{user.name} is disabled: enable them first", field="id", value=user_id)
    add_audit(session, None, caller.name, "password_link_made", {"name": user.name})
    return _link(session, user, settings)


def _link(session: Session, user: User, settings: Settings) -> PasswordLink:
    seconds = settings.password_link_seconds
    code = new_login_code(session, user, seconds, "password")
    return PasswordLink(path=f"{LINK_PATH}?code={code}", expires_at=clock(session) + timedelta(seconds=seconds))


def get(session: Session, user_id: str) -> User:
    """Return one user. Raises Problem 404."""
    return existing(repository.get(session, user_id), "user", user_id)


def update(session: Session, user_id: str, body: PersonUpdate, caller: Principal) -> User:
    """Change role or e-mail address, disable, enable. Raises Problem 404, and 409 for the last administrator."""
    administrators = accounts.lock_administrators(session)
    user = get(session, user_id)
    session.refresh(user)
    loses = body.disabled is True or body.role in ("viewer", "member")
    if loses and [each.id for each in administrators] == [user.id]:
        raise Problem(
            409,
            "last_administrator",
            f"{user.name} is the only administrator: make another user administrator first",
            field="disabled" if body.disabled else "role",
            value=body.disabled or body.role,
        )
    if body.role is not None and body.role != user.role:
        detail = {"name": user.name, "before": user.role, "role": body.role}
        user.role = body.role
        add_audit(session, None, caller.name, "role_changed", detail)
    if body.email is not None and (body.email or None) != user.email:
        changed = {"name": user.name, "before": user.email, "email": body.email or None}
        user.email = body.email or None
        add_audit(session, None, caller.name, "email_changed", changed)
    if body.disabled is True and user.disabled_at is None:
        user.disabled_at = clock(session)
        ended = accounts.end_sessions(session, user.id)
        accounts.end_login_codes(session, user.id)
        revoked = [token.name for token in accounts.revoke_tokens(session, "user", user_id=user.id)]
        gone = {"name": user.name, "sessions_ended": ended, "tokens_revoked": revoked}
        add_audit(session, None, caller.name, "person_disabled", gone)
    if body.disabled is False and user.disabled_at is not None:
        user.disabled_at = None
        add_audit(session, None, caller.name, "person_enabled", {"name": user.name})
    session.flush()
    return user
