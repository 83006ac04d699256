"""SQL of the parameter changes that a run applied."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import Control
from bapo.analysis.what_if.recording import ParameterChange


def applied_changes(session: Session, run_id: str) -> list[ParameterChange]:
    """Return the changes that a trainer applied, in the order in which they took effect."""
    query = (
        select(Control.applied_step, Control.changes)
        .where(
            Control.run_id == run_id,
            Control.kind == "change",
            Control.state == "applied",
            Control.applied_step.is_not(None),
        )
        .order_by(Control.applied_step, Control.created_at)
    )
    return [ParameterChange(step, changes) for step, changes in session.execute(query)]
