"""Workers, for people and for themselves, the queue, and prices of compute hours."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.prices import CurrencyWrite, PriceList, PriceWrite
from bapo.api.queue import LimitChange, QueueMove, QueueState, UserLimits
from bapo.api.runs import RunSummary
from bapo.api.workers import (
    AssignedRuns,
    AssignedRunsRequest,
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
from bapo.client.call import Call, Endpoint, post, route


class WorkerCalls:
    """Workers, for people and for themselves, the queue, and prices of compute hours."""

    @route("GET /workers")
    def workers(self) -> WorkerPage:
        """Return all workers."""

    @Endpoint
    def drain_worker(self, worker_id: str, body: DrainRequest | None = None) -> Call[WorkerInfo]:
        """Give a worker no new runs."""
        return post(f"/workers/{quote(worker_id, safe='')}/drain", WorkerInfo, body or DrainRequest())

    @route("POST /workers/{worker_id}/undrain")
    def undrain_worker(self, worker_id: str) -> WorkerInfo:
        """Give a drained worker runs again."""

    @route("DELETE /workers/{worker_id}")
    def forget_worker(self, worker_id: str) -> None:
        """Forget a worker that is gone."""

    @route("POST /workers/register")
    def register_worker(self, body: WorkerRegistration) -> WorkerWelcome:
        """Register a worker."""

    @route("POST /workers/heartbeat")
    def heartbeat(self, body: WorkerHeartbeat) -> HeartbeatAnswer:
        """Report what the worker is running. Returns what it has to do."""

    @route("POST /workers/deliveries")
    def wait_for_runs(self, body: AssignedRunsRequest) -> AssignedRuns:
        """Wait for assigned runs, for as long as the body says: the client's timeout must be longer."""

    @route("POST /workers/runs/{run_id}/claim")
    def claim(self, run_id: str, body: ClaimRequest) -> Claim:
        """Take an assigned run. Raises ApiError 409 where it is taken already."""

    @route("POST /workers/runs/{run_id}/records")
    def post_records(self, run_id: str, body: RecordBatch) -> BatchAccepted:
        """Upload lines of an attempt's file. Raises ApiError 409 with a stale fencing token."""

    @route("POST /workers/runs/{run_id}/outcome")
    def post_outcome(self, run_id: str, body: AttemptOutcome) -> RunSummary:
        """Say that a trainer is up, or how it ended. Raises ApiError 409 with a stale fencing token."""

    @route("GET /queue")
    def queue(self) -> QueueState:
        """Return the waiting runs with their reasons, and the running ones by worker."""

    @route("POST /runs/{run_id}/move")
    def move(self, run_id: str, body: QueueMove) -> QueueState:
        """Move a waiting run before or after another, or to the top or bottom."""

    @route("GET /queue/limits")
    def limits(self) -> UserLimits:
        """Return the number of runs that each user may have on workers at a time."""

    @route("PUT /queue/limits/{user}")
    def set_limit(self, user: str, body: LimitChange) -> UserLimits:
        """Limit how many runs a person may have on workers at a time."""

    @route("GET /prices")
    def prices(self) -> PriceList:
        """Return the prices of all kinds of machines, and every change."""

    @route("POST /prices")
    def set_price(self, body: PriceWrite) -> PriceList:
        """Set a price from a moment on; for administrators."""

    @route("PUT /prices/currency")
    def set_currency(self, body: CurrencyWrite) -> PriceList:
        """Convert all prices to another currency; for administrators."""
