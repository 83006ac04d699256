"""Answers a repeated request with the first response, by idempotency key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Header
from pydantic import BaseModel
from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.kit.database import seconds_from_now
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.models import IdempotentRequest

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="A repeated request with the same key does nothing and gets the first response. "
        "A key is valid for a week.",
    ),
]
KEPT_SECONDS = 7 * 86_400.0

Answer = TypeVar("Answer", bound=BaseModel)


def once(
    session: Session, caller: Principal, key: str | None, request: str, model: type[Answer], act: Callable[[], Answer]
) -> Answer:
    """Perform a request, or return the response to the same earlier request; without a key, always perform it.

    `request` says what is asked for, with everything that decides it; `model` is the form of the answer. All of it
    happens in one transaction, so that of two requests at the same time one waits for the other, and one that fails
    leaves its key free.

    Raises Problem 409 for a key that came with another request.
    """
    if key is None:
        return act()
    digest = hashlib.sha256(request.encode()).hexdigest()
    row = {"user_id": caller.id, "key": key, "digest": digest}
    made = insert(IdempotentRequest).values(row).on_conflict_do_nothing().returning(IdempotentRequest.key)
    if session.scalars(made).one_or_none() is None:
        known = session.get_one(IdempotentRequest, (caller.id, key), populate_existing=True)
        if known.digest != digest:
            remedy = "this key was used for a different request: use a new key"
            raise Problem(409, "idempotency_key_reused", remedy, field="Idempotency-Key", value=key)
        return model.model_validate(known.answer)
    answer = act()
    session.flush()
    session.get_one(IdempotentRequest, (caller.id, key)).answer = answer.model_dump(mode="json")
    return answer


def prune(session: Session) -> None:
    """Forget keys that are older than a week."""
    session.execute(delete(IdempotentRequest).where(IdempotentRequest.created_at < seconds_from_now(-KEPT_SECONDS)))
