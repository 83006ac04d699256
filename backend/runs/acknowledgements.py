"""Applies the trainer's answers to requests, as its journal records them."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.kit.events import announce_status
from backend.models import Control, Run
from bapo.records import EventRecord

_STATES = {
    "parameter_change": "applied",
    "parameter_refused": "refused",
    "stop": "applied",
    "request_withdrawn": "withdrawn",
}


def note(session: Session, run: Run, event: EventRecord) -> None:
    """Settle the request that this event answers; one that came through the control file itself becomes known."""
    identifier = event.data.get("id")
    if event.event not in _STATES or not isinstance(identifier, str):
        return
    control = session.get(Control, (run.id, identifier))
    if event.event == "request_withdrawn" and (control is None or control.state != "pending"):
        # Of a stop that was settled otherwise, or written and withdrawn in the control file alone.
        return
    if control is None:
        control = Control(
            run_id=run.id,
            id=identifier,
            kind="stop" if event.event == "stop" else "change",
            author=str(event.data.get("author", "unknown")),
            changes=dict(event.data.get("set", {})),
            at_step=None,
            state="pending",
        )
        session.add(control)
    control.state = _STATES[event.event]
    # An event is recorded at the last completed step; what it answers holds from the next one.
    control.applied_step = int(event.data.get("applied_step", event.step + 1))
    control.reason = event.message if control.state == "refused" else None
    announce_status(session, run)
