"""Route for the server's audit trail."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from sqlalchemy import select

from backend.kit.bodies import rendered
from backend.kit.context import DbSession, new_router
from backend.kit.cursors import decode_numbers, encode
from backend.kit.permissions import Administrator
from backend.models import AuditRow
from bapo.api.base import Text
from bapo.api.people import AuditPage, AuditRecord

router = new_router("audit")

_LIST = "audit"


@router.get("/audit", summary="List the audit log")
def list_audit(
    _: Administrator,
    session: DbSession,
    author: Annotated[Text | None, Query(max_length=200)] = None,
    action: Annotated[Text | None, Query(max_length=100)] = None,
    cursor: Annotated[str | None, Query(max_length=2_000)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> AuditPage:
    """List who did what, newest first. The author `system` is the server itself."""
    query = select(AuditRow).order_by(AuditRow.id.desc()).limit(limit + 1)
    if author is not None:
        query = query.where(AuditRow.author == author)
    if action is not None:
        query = query.where(AuditRow.action == action)
    if cursor is not None:
        query = query.where(AuditRow.id < decode_numbers(cursor, _LIST)[1])
    rows = session.scalars(query).all()
    items = [rendered(AuditRecord, row) for row in rows[:limit]]
    return AuditPage(items=items, next_cursor=encode(_LIST, [0, items[-1].id]) if len(rows) > limit else None)
