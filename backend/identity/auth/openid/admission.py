"""Decides which user signs in by single sign-on, and with what rights."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.identity.auth import repository as accounts
from backend.identity.auth.openid import repository
from backend.identity.auth.openid.refusals import Refusal, SignInRefusedError
from backend.models import User
from backend.settings.claim_rules import values_of
from backend.settings.environment import Settings
from bapo.api.accounts import RANK, Role
from bapo.config import patterns

LOG = logging.getLogger(__name__)

MAX_NAME = 100
MAX_SHOWN = 300
"""Characters of a claim in the log."""


def admit(session: Session, claims: Mapping[str, Any], settings: Settings) -> User:
    """Return the user that the claims name, made or connected where that is allowed, with the rights that the claims
    give.

    Raises SignInRefusedError for users who may not sign in.
    """
    issuer, subject = settings.oidc_issuer, str(claims["sub"])
    repository.lock(session, issuer, subject)
    user = repository.user_of(session, issuer, subject)
    _check_disabled(user, subject)
    _check_domain(claims, settings)
    _check_groups(claims, settings)
    role = _role(claims, settings)
    if user is None:
        user = _connected(session, claims, settings) or _new(session, claims, settings, role or settings.oidc_new_role)
        repository.add_identity(session, issuer, subject, user.id)
    repository.note_login(session, issuer, subject)
    email = _email(claims)
    if email is not None and _is_verified(claims):
        user.email = email
    if role is not None:
        _set_role(session, user, role)
    if settings.oidc_project_claim:
        _set_projects(session, user, claims, settings)
    session.flush()
    return user


def _email(claims: Mapping[str, Any]) -> str | None:
    email = claims.get("email")
    return email if isinstance(email, str) and 3 <= len(email) <= 320 and "@" in email else None


def _is_verified(claims: Mapping[str, Any]) -> bool:
    # Some providers send it as a text. A number, which equals True, is neither.
    verified = claims.get("email_verified")
    return verified is True or verified == "true"


def _check_disabled(user: User | None, subject: str) -> None:
    if user is not None and user.disabled_at is not None:
        raise SignInRefusedError(Refusal.DISABLED, f"{user.name} ({subject}) is disabled here")


def _check_domain(claims: Mapping[str, Any], settings: Settings) -> None:
    if not settings.allowed_domains:
        return
    email = _email(claims)
    if email is None or not _is_verified(claims):
        cause = f"{claims['sub']}: BAPO_OIDC_ALLOWED_DOMAINS needs the claims email and email_verified"
        raise SignInRefusedError(Refusal.EMAIL_NOT_VERIFIED, cause, settings.oidc_label)
    if email.rpartition("@")[2].lower() not in settings.allowed_domains:
        domains = ", ".join(sorted(settings.allowed_domains))
        raise SignInRefusedError(Refusal.WRONG_DOMAIN, f"{claims['sub']} has the e-mail address {email}", domains)


def _check_groups(claims: Mapping[str, Any], settings: Settings) -> None:
    if not settings.required_groups:
        return
    groups = values_of(claims, settings.oidc_group_claim)
    if not settings.required_groups.intersection(groups):
        cause = f"{claims['sub']}: the claim {settings.oidc_group_claim} holds {_shown(groups)}"
        raise SignInRefusedError(Refusal.NOT_IN_GROUP, cause, settings.oidc_label)


def _role(claims: Mapping[str, Any], settings: Settings) -> Role | None:
    """Return the role that the rules give; None where there are no rules."""
    if not settings.role_rules.roles:
        return None
    values = values_of(claims, settings.oidc_role_claim)
    role = settings.role_rules.role_of(values)
    if role is None:
        cause = f"{claims['sub']}: no rule of BAPO_OIDC_ROLE_RULES fits {settings.oidc_role_claim} = {_shown(values)}"
        raise SignInRefusedError(Refusal.NO_ROLE, cause, settings.oidc_label)
    return role


def _shown(values: list[str]) -> str:
    text = ", ".join(values) or "nothing"
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def _connected(session: Session, claims: Mapping[str, Any], settings: Settings) -> User | None:
    """Return an account that is here already, where its administrator and the provider agree whose it is."""
    email = _email(claims)
    if not settings.oidc_link_by_email or email is None or not _is_verified(claims):
        return None
    found = repository.unlinked_with_email(session, settings.oidc_issuer, email)
    if len(found) != 1:
        return None
    user = found[0]
    _check_disabled(user, str(claims["sub"]))
    add_audit(session, None, user.name, "identity_connected", _identity(claims, settings))
    return user


def _new(session: Session, claims: Mapping[str, Any], settings: Settings, role: Role) -> User:
    # An address that the provider has not verified may be another person's.
    names = [*_claimed_name(claims, settings), *([_email(claims)] if _is_verified(claims) else [])]
    fitting = [each for each in names if each and len(each) <= MAX_NAME and re.fullmatch(patterns.PERSON_NAME, each)]
    free = [each for each in fitting if not accounts.is_taken(session, each)]
    if not free:
        cause = f"{claims['sub']}: {settings.oidc_name_claim} and email are {_shown([each or '' for each in names])}"
        refusal = Refusal.NAME_TAKEN if fitting else Refusal.NO_NAME
        raise SignInRefusedError(refusal, cause, settings.oidc_label)
    user = User(name=free[0], role=role)
    session.add(user)
    session.flush()
    detail = {"name": user.name, "role": role, "projects": [], **_identity(claims, settings)}
    add_audit(session, None, user.name, "person_created", detail)
    return user


def _claimed_name(claims: Mapping[str, Any], settings: Settings) -> list[str]:
    """Return the name that the provider gives; none where that is an address which it says it has not verified."""
    email, is_doubtful = _email(claims), "email_verified" in claims and not _is_verified(claims)
    names = values_of(claims, settings.oidc_name_claim)[:1]
    if settings.oidc_name_claim == "email" or is_doubtful:
        return names if _is_verified(claims) else [name for name in names if name != email]
    return names


def _identity(claims: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    return {"with": settings.oidc_label, "issuer": settings.oidc_issuer, "subject": claims["sub"]}


def _set_role(session: Session, user: User, role: Role) -> None:
    if user.role == role:
        return
    administrators = accounts.lock_administrators(session)
    if [each.id for each in administrators] == [user.id] and RANK[role] < RANK["admin"]:
        LOG.warning("the only administrator keeps the role", extra={"name_here": user.name, "claimed": role})
        return
    add_audit(session, None, user.name, "role_changed", {"name": user.name, "before": user.role, "role": role})
    user.role = role


def _set_projects(session: Session, user: User, claims: Mapping[str, Any], settings: Settings) -> None:
    wanted = settings.project_rules.roles_of(values_of(claims, settings.oidc_project_claim))
    projects = repository.projects_named(session, wanted)
    if unknown := sorted({*wanted} - {each.name for each in projects}):
        LOG.warning("claims name unknown projects", extra={"projects": _shown(unknown), "name_here": user.name})
    before = repository.memberships(session, user.id)
    for project in projects:
        role = wanted[project.name]
        if before.get(project.id) != (role, True):
            accounts.set_membership(session, project.id, user.id, role, from_claim=True)
            detail = {"project_id": project.id, "project": project.name, "name": user.name, "role": role}
            add_audit(session, None, user.name, "member_set", {**detail, "with": settings.oidc_label})
    for project in repository.remove_claimed(session, user.id, [each.id for each in projects]):
        detail = {"project_id": project.id, "project": project.name, "name": user.name}
        detail |= {"role": before[project.id][0], "with": settings.oidc_label}
        add_audit(session, None, user.name, "member_removed", detail)
