"""Stores requests to a run's trainer."""

from __future__ import annotations

import uuid
from typing import Any

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.kit.events import announce_status
from backend.kit.principal import Principal
from backend.models import Control, Run
from bapo.run.control import StopMoment


def add_control(
    session: Session,
    run: Run,
    kind: str,
    caller: Principal,
    changes: dict[str, Any],
    at_step: int | None,
    moment: StopMoment | None = None,
) -> Control:
    """Store a stop, a pause or a change; the run's worker hands it on with its next heartbeat."""
    control = Control(
        run_id=run.id,
        id=uuid.uuid4().hex,
        kind=kind,
        author=caller.name,
        changes=changes,
        at_step=at_step,
        state="pending",
        moment=moment,
    )
    session.add(control)
    session.flush()
    detail = {"control_id": control.id, "set": changes, "at_step": at_step} if kind == "change" else {"when": moment}
    add_audit(session, run.id, caller.name, kind, detail)
    announce_status(session, run)
    return control
