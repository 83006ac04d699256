"""Workers, for people and for themselves."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api import (
    AttemptOutcome,
    BatchAccepted,
    Claim,
    ClaimRequest,
    HeartbeatAnswer,
    RecordBatch,
    RunSummary,
    WorkerHeartbeat,
    WorkerPage,
    WorkerRegistration,
    WorkerWelcome,
)
from bapo.calls.base import Call, Endpoint, get, post


class WorkerCalls:
    """Workers, for people and for themselves."""

    @Endpoint
    def workers(self) -> Call[WorkerPage]:
        """The workers, for people."""
        return get("/workers", WorkerPage)

    @Endpoint
    def register_worker(self, body: WorkerRegistration) -> Call[WorkerWelcome]:
        """A worker introduces itself."""
        return post("/workers/register", WorkerWelcome, body)

    @Endpoint
    def heartbeat(self, body: WorkerHeartbeat) -> Call[HeartbeatAnswer]:
        """A worker says what it is running, and hears what to do."""
        return post("/workers/heartbeat", HeartbeatAnswer, body)

    @Endpoint
    def claim(self, run_id: str, body: ClaimRequest) -> Call[Claim]:
        """Take an assigned run. Raises ApiError 409 where it is taken already."""
        return post(f"/workers/runs/{quote(run_id, safe='')}/claim", Claim, body)

    @Endpoint
    def post_records(self, run_id: str, body: RecordBatch) -> Call[BatchAccepted]:
        """Upload lines of an attempt's file. Raises ApiError 409 with a stale fencing token."""
        return post(f"/workers/runs/{quote(run_id, safe='')}/records", BatchAccepted, body)

    @Endpoint
    def post_outcome(self, run_id: str, body: AttemptOutcome) -> Call[RunSummary]:
        """Say that a trainer is up, or how it ended. Raises ApiError 409 with a stale fencing token."""
        return post(f"/workers/runs/{quote(run_id, safe='')}/outcome", RunSummary, body)
