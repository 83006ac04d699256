"""Routes for the queue and its limits."""

from __future__ import annotations

from backend.fleet.queue import moves, service
from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Administrator, Reader, Writer
from bapo.api.queue import LimitChange, QueueMove, QueueState, UserLimits

router = new_router("queue")


@router.get("/queue", summary="Get the queue")
def get_queue(caller: Reader, session: DbSession, settings: SettingsOf) -> QueueState:
    """Return the queued runs in the order in which they start, and every worker with the runs in its slots."""
    return service.state(session, settings, caller)


@router.post("/runs/{run_id}/move", summary="Move a run in the queue")
def move_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: QueueMove) -> QueueState:
    """Move a queued run before or after another, or to the top or bottom. Returns the new queue."""
    moves.move(session, run_id, body, caller, settings)
    session.flush()
    return service.state(session, settings, caller)


@router.get("/queue/limits", summary="Get limits of users")
def get_limits(_: Administrator, session: DbSession, settings: SettingsOf) -> UserLimits:
    """List the number of runs that each user may have on workers at a time. Requires an administrator."""
    return service.limits(session, settings)


@router.put("/queue/limits/{user}", summary="Set a user's limit")
def set_limit(
    caller: Administrator, session: DbSession, settings: SettingsOf, user: str, body: LimitChange
) -> UserLimits:
    """Limit how many runs a user may have on workers at a time. Active runs go on.

    Requires an administrator.
    """
    service.set_limit(session, user, body, caller)
    session.flush()
    return service.limits(session, settings)
