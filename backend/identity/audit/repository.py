"""Writes and reads the audit trail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import AuditRow


def add_audit(session: Session, run_id: str | None, author: str, action: str, detail: dict[str, Any]) -> None:
    """Note who did what."""
    session.add(AuditRow(run_id=run_id, author=author, action=action, detail=detail))


def audit_of_run(session: Session, run_id: str) -> Sequence[AuditRow]:
    """Return the entries about a run, oldest first."""
    return session.scalars(select(AuditRow).where(AuditRow.run_id == run_id).order_by(AuditRow.id)).all()
