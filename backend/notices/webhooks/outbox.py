"""Queues webhook messages in the transaction of the change that they report."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from sqlalchemy import Text, cast, exists, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from backend.models import Delivery, Membership, Run, User, Webhook


def add(session: Session, run: Run, event: str, body: dict[str, Any]) -> None:
    """Add a message for each webhook of the run's project that wants such events."""
    is_member = exists().where(Membership.project_id == run.project_id, Membership.user_id == Webhook.owner_id)
    query = (
        select(Webhook.id)
        .join(User, User.id == Webhook.owner_id)
        .where(
            Webhook.project_id == run.project_id,
            Webhook.enabled,
            Webhook.events.contains(cast([event], ARRAY(Text))),
            # A user without access gets no more messages.
            User.disabled_at.is_(None),
            or_(User.role == "admin", is_member),
        )
        .order_by(Webhook.id)
    )
    for webhook_id in session.scalars(query).all():
        session.add(
            Delivery(webhook_id=webhook_id, event=event, run_id=run.id, body=body, created_at=func.clock_timestamp())
        )


def run_body(run: Run, public_url: str) -> dict[str, Any]:
    """Return the facts about the run that every message contains."""
    return {
        "run": {
            "id": run.id,
            "name": run.name,
            "status": run.status.value,
            "reason": run.status_reason,
            "method": run.method,
            "tags": list(run.tags),
            "step": run.step,
            "num_steps": run.num_steps,
            "attempt": run.attempt,
            "link": f"{public_url.rstrip('/')}/runs/{quote(run.id, safe='')}",
        }
    }
