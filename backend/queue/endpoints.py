"""The queue, for people."""

from __future__ import annotations

from backend.context import DbSession, SettingsOf, new_router
from backend.permissions import Reader
from backend.queue import service
from bapo.api import QueueState

router = new_router("queue")


@router.get("/queue", summary="What waits and why, and what runs where")
def get_queue(caller: Reader, session: DbSession, settings: SettingsOf) -> QueueState:
    """Waiting runs in the order in which they start, and every worker with what its slots hold."""
    return service.state(session, settings, caller)
