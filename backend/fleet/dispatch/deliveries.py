"""Tells workers that ask over HTTPS which runs they should claim, in place of messages from the broker.

The answer is what the dispatcher would send: the runs that the database has promised to the worker. So a repeated, late
or lost answer changes nothing, as with a message; whose run it is, the claim decides.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import anyio.to_thread
from fastapi import Request

from backend.kit import instruments
from backend.kit.context import Context
from backend.kit.database import Database
from backend.kit.principal import Principal
from backend.notices.events.hub import EventHub
from backend.workers import repository
from backend.workers.administration import worker_of
from bapo.api.workers import AssignedRunsRequest


async def wait_for_runs(context: Context, request: Request, body: AssignedRunsRequest, caller: Principal) -> list[str]:
    """Return the runs to look at, as soon as there are any; none after the time asked for, or when the server stops.

    Holds no thread and no connection to the database while it waits. Raises Problem 404 for another token's worker.
    """
    hub = context.part(EventHub)
    deadline = time.monotonic() + body.wait_seconds
    # First this, then a look: nothing falls between.
    with hub.assignments(body.worker_id) as assigned:
        while not hub.is_closed:
            run_ids = await anyio.to_thread.run_sync(_take, context.database, body.worker_id, caller)
            left = deadline - time.monotonic()
            if run_ids or left <= 0:
                return run_ids
            with suppress(TimeoutError):
                await asyncio.wait_for(assigned.wait(), min(left, repository.RESEND_SECONDS))
            assigned.clear()
            if await request.is_disconnected():
                # Of a worker that was killed: its successor may be waiting for the same run.
                break
    return []


def _take(database: Database, worker_id: str, caller: Principal) -> list[str]:
    with database.session() as session, session.begin():
        messages = repository.unsent_to(session, worker_of(session, worker_id, caller))
        for message in messages:
            repository.mark_sent(session, message)
    instruments.DELIVERIES.labels("sent").inc(len(messages))
    return [message.run_id for message in messages]
