"""The queue, for people."""

from __future__ import annotations

from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Administrator, Reader, Writer
from backend.queue import limits, moving, service
from bapo.api.queue import LimitChange, QueueMove, QueueState, UserLimits

router = new_router("queue")


@router.get("/queue", summary="What waits and why, and what runs where")
def get_queue(caller: Reader, session: DbSession, settings: SettingsOf) -> QueueState:
    """Waiting runs in the order in which they start, and every worker with what its slots hold."""
    return service.state(session, settings, caller)


@router.post("/runs/{run_id}/move", summary="Move a waiting run in the queue")
def move_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: QueueMove) -> QueueState:
    """Before or after another waiting run, or to the top or bottom; the answer is the queue as it is now."""
    moving.move(session, run_id, body, caller, settings)
    session.flush()
    return service.state(session, settings, caller)


@router.get("/queue/limits", summary="How many runs each person may have on workers at a time")
def get_limits(_: Administrator, session: DbSession, settings: SettingsOf) -> UserLimits:
    """For administrators."""
    return limits.limits(session, settings)


@router.put("/queue/limits/{user}", summary="Limit how many runs a person may have on workers at a time")
def set_limit(
    caller: Administrator, session: DbSession, settings: SettingsOf, user: str, body: LimitChange
) -> UserLimits:
    """For administrators; what runs already goes on."""
    limits.set_limit(session, user, body, caller)
    session.flush()
    return limits.limits(session, settings)
