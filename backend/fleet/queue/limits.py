"""Limits how many runs a user may have on workers at a time."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.fleet.queue import repository
from backend.identity.audit.repository import add_audit
from backend.kit.errors import existing
from backend.kit.principal import Principal
from backend.models import Run, User
from backend.settings.environment import Settings
from bapo.api.queue import LimitChange, UserLimit, UserLimits
from bapo.api.runs import RunStatus


def limits(session: Session, settings: Settings) -> UserLimits:
    """Return the limits of all users who can log in."""
    holdings = repository.holdings(session)
    counted = select(Run.owner_id, func.count()).where(Run.status == RunStatus.QUEUED).group_by(Run.owner_id)
    waiting = {row[0]: row[1] for row in session.execute(counted)}
    people = session.scalars(select(User).where(User.disabled_at.is_(None)).order_by(User.name))
    return UserLimits(
        default=settings.max_running_per_user,
        items=[
            UserLimit(
                user=person.name,
                max_running=person.max_running,
                running=holdings[person.id].num_runs if person.id in holdings else 0,
                waiting=waiting.get(person.id, 0),
            )
            for person in people
        ],
    )


def set_limit(session: Session, user: str, change: LimitChange, caller: Principal) -> None:
    """Set a user's own limit, or return to the server's default. Raises Problem 404."""
    person = existing(session.scalars(select(User).where(User.name == user)).one_or_none(), "user", user)
    before, person.max_running = person.max_running, change.max_running
    add_audit(session, None, caller.name, "limit", {"user": user, "from": before, "to": change.max_running})
