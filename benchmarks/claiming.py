"""A worker with one slot, by its calls: it registers, asks for runs, claims one, and reports its end."""

from __future__ import annotations

import time
from pathlib import Path

from bapo.api.workers import AssignedRunsRequest, AttemptOutcome, ClaimRequest, WorkerHeartbeat, WorkerRegistration
from bapo.client import ApiError, Client
from benchmarks.deployment import Deployment
from worker.attempts import Attempt

PATIENCE_SECONDS = 300.0


class ClaimingWorker:
    """Has no trainer: what is claimed is uploaded by who calls, with `client`."""

    def __init__(self, server: Deployment, name: str) -> None:
        self.client = Client(server.url, token=server.worker_token)
        body = WorkerRegistration(name=name, host=name, slots=1, version="0", delivery="https")
        self.id = self.client.register_worker(body).worker_id

    def claim(self, run_folder: Path) -> Attempt:
        """Wait for a run and take it; its files are below `run_folder`. Raises TimeoutError."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            self.client.heartbeat(WorkerHeartbeat(worker_id=self.id, attempts=[]))
            for run_id in self.client.wait_for_runs(AssignedRunsRequest(worker_id=self.id, wait_seconds=5)).run_ids:
                try:
                    claim = self.client.claim(run_id, ClaimRequest(worker_id=self.id))
                except ApiError as error:
                    if error.status != 409:
                        raise
                    continue
                token = claim.fencing_token
                return Attempt(run_id=run_id, number=claim.attempt, fencing_token=token, run_folder=run_folder)
        raise TimeoutError(f"no run came within {PATIENCE_SECONDS:g} s")

    def succeed(self, attempt: Attempt, step: int) -> None:
        """Report that the run has ended well after so many steps."""
        outcome = AttemptOutcome(fencing_token=attempt.fencing_token, status="succeeded", step=step)
        self.client.post_outcome(attempt.run_id, outcome)
