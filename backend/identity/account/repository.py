"""SQL of tokens and their users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import Worker


def workers_of(session: Session, token_ids: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the names of the workers that registered with each token."""
    found: dict[str, list[str]] = {}
    query = select(Worker.token_id, Worker.name).where(Worker.token_id.in_(token_ids)).order_by(Worker.name)
    for token_id, name in session.execute(query):
        found.setdefault(token_id, []).append(name)
    return found
