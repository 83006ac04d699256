"""SQL of webhooks and their messages."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, and_, delete, func, or_, select, update
from sqlalchemy.orm import Session

from backend.kit.database import seconds_from_now
from backend.models import Delivery, Project, User, Webhook


class WebhookRow(NamedTuple):
    """A webhook, the names of its author and its project, and its state."""

    webhook: Webhook
    owner: str
    project: str
    num_waiting: int
    last_delivered_at: datetime | None


def _webhooks() -> Select[Webhook, str, str, int, datetime | None]:
    waiting = (
        select(func.count())
        .where(Delivery.webhook_id == Webhook.id, Delivery.state == "waiting")
        .correlate(Webhook)
        .scalar_subquery()
    )
    delivered = (
        select(func.max(Delivery.last_try_at))
        .where(Delivery.webhook_id == Webhook.id, Delivery.state == "delivered")
        .correlate(Webhook)
        .scalar_subquery()
    )
    return (
        select(Webhook, User.name, Project.name, waiting, delivered)
        .join(User, User.id == Webhook.owner_id)
        .join(Project, Project.id == Webhook.project_id)
    )


def webhooks(session: Session, conditions: Collection[ColumnElement[bool]]) -> list[WebhookRow]:
    """Return the webhooks by name."""
    query = _webhooks().where(*conditions).order_by(func.lower(Webhook.name), Webhook.id)
    return [WebhookRow(*row) for row in session.execute(query)]


def lock(session: Session, webhook_id: str) -> Webhook | None:
    """Return one webhook, locked."""
    query = select(Webhook).where(Webhook.id == webhook_id).with_for_update()
    return session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def count(session: Session, project_id: str) -> int:
    """Return the number of webhooks of a project."""
    return session.scalars(select(func.count()).where(Webhook.project_id == project_id)).one()


def count_given_up(session: Session, owner_id: str) -> int:
    """Return the number of a user's webhooks that were switched off after failures."""
    query = select(func.count()).where(Webhook.owner_id == owner_id, Webhook.disabled_reason.is_not(None))
    return session.execute(query.select_from(Webhook)).scalar_one()


def deliveries(session: Session, webhook_id: str, before_id: int | None, limit: int) -> list[Delivery]:
    """Return the newest first."""
    query = select(Delivery).where(Delivery.webhook_id == webhook_id).order_by(Delivery.id.desc()).limit(limit)
    if before_id is not None:
        query = query.where(Delivery.id < before_id)
    return list(session.scalars(query))


def delivery(session: Session, webhook_id: str, delivery_id: int) -> Delivery | None:
    """Return one message of a webhook, locked."""
    query = select(Delivery).where(Delivery.id == delivery_id, Delivery.webhook_id == webhook_id).with_for_update()
    return session.scalars(query).one_or_none()


class Due(NamedTuple):
    """A message that is to be sent now."""

    delivery_id: int
    webhook_id: str


def due(session: Session, busy: Collection[str], limit: int) -> list[Due]:
    """Return the first message that is due of each webhook to which none is being sent, longest waiting first."""
    query = (
        select(func.min(Delivery.id).label("id"), Delivery.webhook_id)
        .join(Webhook, Webhook.id == Delivery.webhook_id)
        .where(
            Delivery.state == "waiting",
            Webhook.enabled,
            or_(Delivery.next_try_at.is_(None), Delivery.next_try_at <= func.now()),
            # A user is waiting for the outcome of a test.
            or_(Webhook.resume_at.is_(None), Webhook.resume_at <= func.now(), Delivery.event == "test"),
            Webhook.id.not_in(busy),
        )
        .group_by(Delivery.webhook_id)
        .order_by(func.min(Delivery.id))
        .limit(limit)
    )
    return [Due(*row) for row in session.execute(query)]


def lock_both(session: Session, item: Due) -> tuple[Webhook, Delivery] | None:
    """Return the webhook and its message, held; None where one of them is gone."""
    webhook = lock(session, item.webhook_id)
    found = None if webhook is None else delivery(session, item.webhook_id, item.delivery_id)
    return None if webhook is None or found is None else (webhook, found)


def give_up_waiting(session: Session, webhook_id: str, problem: str) -> None:
    """Give up all waiting messages."""
    query = update(Delivery).where(Delivery.webhook_id == webhook_id, Delivery.state == "waiting")
    session.execute(query.values(state="given_up", problem=problem, next_try_at=None))


def prune(session: Session, seconds: float) -> None:
    """Forget messages older than this that are done with."""
    done = and_(Delivery.state != "waiting", Delivery.created_at < seconds_from_now(-seconds))
    session.execute(delete(Delivery).where(done))


def send_now(session: Session, webhook_id: str) -> None:
    """Make waiting messages due now."""
    query = update(Delivery).where(Delivery.webhook_id == webhook_id, Delivery.state == "waiting")
    session.execute(query.values(next_try_at=None))
