"""SQL of single sign-on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.orm import Session

from backend.kit.database import seconds_from_now
from backend.models import Membership, PendingSignIn, Project, ProviderIdentity, User
from bapo.api.accounts import Role

_LOCKS = text("SELECT pg_advisory_xact_lock(1819239284, hashtext(:identity))")


def num_pending(session: Session, address: str) -> int:
    """Return the number of sign-ins that an address has begun and not finished; delete all expired ones."""
    session.execute(delete(PendingSignIn).where(PendingSignIn.expires_at < func.now()))
    return session.scalars(select(func.count()).where(PendingSignIn.address == address)).one()


def add_pending(
    session: Session, state_hash: str, browser_hash: str, issuer: str, address: str, seconds: float
) -> None:
    """Note a sign-in that goes to the provider."""
    expires_at = seconds_from_now(seconds)
    session.add(
        PendingSignIn(
            state_hash=state_hash, browser_hash=browser_hash, issuer=issuer, address=address, expires_at=expires_at
        )
    )


def take_pending(session: Session, state_hash: str, browser_hash: str, issuer: str) -> bool:
    """Use up a sign-in that this browser has begun. Of two callers at once one gets it; another browser leaves it."""
    query = (
        delete(PendingSignIn)
        .where(PendingSignIn.state_hash == state_hash, PendingSignIn.browser_hash == browser_hash)
        .where(PendingSignIn.issuer == issuer, PendingSignIn.expires_at > func.now())
    )
    return session.scalars(query.returning(PendingSignIn.state_hash)).one_or_none() is not None


def lock(session: Session, issuer: str, subject: str) -> None:
    """Lock the identity, so that no other request admits the same user meanwhile."""
    session.execute(_LOCKS, {"identity": f"{issuer} {subject}"})


def user_of(session: Session, issuer: str, subject: str) -> User | None:
    """Return the user with this identity, disabled or not."""
    query = select(User).join(ProviderIdentity, ProviderIdentity.user_id == User.id)
    return session.scalars(
        query.where(ProviderIdentity.issuer == issuer, ProviderIdentity.subject == subject)
    ).one_or_none()


def unlinked_with_email(session: Session, issuer: str, email: str) -> Sequence[User]:
    """Return the users with this e-mail address, disabled or not, who have no identity at the issuer."""
    linked = select(ProviderIdentity.user_id).where(ProviderIdentity.issuer == issuer)
    return session.scalars(select(User).where(func.lower(User.email) == email.lower(), User.id.not_in(linked))).all()


def add_identity(session: Session, issuer: str, subject: str, user_id: str) -> None:
    """Note whose identity this is."""
    session.add(ProviderIdentity(issuer=issuer, subject=subject, user_id=user_id))
    session.flush()


def note_login(session: Session, issuer: str, subject: str) -> None:
    """Note the time."""
    query = update(ProviderIdentity).where(ProviderIdentity.issuer == issuer, ProviderIdentity.subject == subject)
    session.execute(query.values(last_login_at=func.now()))


def projects_named(session: Session, names: Collection[str]) -> Sequence[Project]:
    """Return the projects of these names."""
    return session.scalars(select(Project).where(Project.name.in_(names)).order_by(Project.name)).all()


def memberships(session: Session, user_id: str) -> dict[str, tuple[Role, bool]]:
    """Return a user's role by project, and whether a claim gave it."""
    query = select(Membership.project_id, Membership.role, Membership.from_claim)
    rows: Sequence[Any] = session.execute(query.where(Membership.user_id == user_id)).all()
    return {project_id: (role, from_claim) for project_id, role, from_claim in rows}


def remove_claimed(session: Session, user_id: str, but: Collection[str]) -> Sequence[Project]:
    """End the memberships that claims gave, except in these projects; the projects of those that ended."""
    query = delete(Membership).where(
        Membership.user_id == user_id, Membership.from_claim, Membership.project_id.not_in(but)
    )
    ended = session.scalars(query.returning(Membership.project_id)).all()
    return session.scalars(select(Project).where(Project.id.in_(ended)).order_by(Project.name)).all()
