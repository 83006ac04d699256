"""Workers, for people and for themselves."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.runs import RunSummary
from bapo.api.workers import (
    AttemptOutcome,
    BatchAccepted,
    Claim,
    ClaimRequest,
    DrainRequest,
    HeartbeatAnswer,
    RecordBatch,
    WorkerHeartbeat,
    WorkerInfo,
    WorkerPage,
    WorkerRegistration,
    WorkerWelcome,
)
from bapo.client.call import Call, Endpoint, get, nothing, post


def _worker_path(worker_id: str, *rest: str) -> str:
    return "/".join(("/workers", quote(worker_id, safe=""), *rest))


class WorkerCalls:
    """Workers, for people and for themselves."""

    @Endpoint
    def workers(self) -> Call[WorkerPage]:
        """The workers, for people."""
        return get("/workers", WorkerPage)

    @Endpoint
    def drain_worker(self, worker_id: str, body: DrainRequest | None = None) -> Call[WorkerInfo]:
        """Give a worker no new runs."""
        return post(_worker_path(worker_id, "drain"), WorkerInfo, body or DrainRequest())

    @Endpoint
    def undrain_worker(self, worker_id: str) -> Call[WorkerInfo]:
        """Give a drained worker runs again."""
        return post(_worker_path(worker_id, "undrain"), WorkerInfo)

    @Endpoint
    def forget_worker(self, worker_id: str) -> Call[None]:
        """Forget a worker that is gone."""
        return Call("DELETE", _worker_path(worker_id), nothing)

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
