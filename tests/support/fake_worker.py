"""A worker as the server sees it: it says what a worker says, and trains nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import pytest

from bapo.api.runs import RunDetail
from bapo.api.workers import (
    LONGEST_WAIT_SECONDS,
    AssignedRunsRequest,
    AttemptHeartbeat,
    AttemptOutcome,
    Claim,
    ClaimRequest,
    Delivery,
    GpuInfo,
    HeartbeatAnswer,
    WorkerHeartbeat,
    WorkerRegistration,
)
from bapo.client import ApiError, Client
from bapo.records import Record
from tests.support.journals import batch, lines_of
from tests.support.services import BackendServer, wait_until


class FakeWorker:
    """Registers, claims what it was promised, uploads, reports."""

    def __init__(
        self,
        server: BackendServer,
        name: str = "w1",
        *,
        slots: int = 100,
        host: str = "box",
        gpus: Sequence[GpuInfo] = (),
        memory_gib: float | None = None,
        drain_before: datetime | None = None,
        delivery: Delivery = "broker",
    ) -> None:
        self.client: Client = server.client(server.worker_token)
        self.body = WorkerRegistration(
            name=name,
            host=host,
            slots=slots,
            gpus=gpus,
            memory_gib=memory_gib,
            version="0",
            drain_before=drain_before,
            delivery=delivery,
        )
        self.welcome = self.client.register_worker(self.body)
        self.offsets: dict[tuple[str, int, str], int] = {}

    @property
    def id(self) -> str:
        """Its identifier."""
        return self.welcome.worker_id

    def try_claim(self, run_id: str) -> Claim | None:
        """The claim, or None where the run is not (yet) this worker's."""
        self.heartbeat()
        try:
            return self.client.claim(run_id, ClaimRequest(worker_id=self.id))
        except ApiError as error:
            if error.status != 409:
                raise
            return None

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a decision about this worker, which sends heartbeats: a silent one is soon not connected."""

        def is_true() -> bool:
            self.heartbeat()
            return condition()

        wait_until(is_true)

    def wait_for_runs(self, seconds: float = LONGEST_WAIT_SECONDS) -> list[str]:
        """Ask the server, as a worker without a broker does."""
        return list(self.client.wait_for_runs(AssignedRunsRequest(worker_id=self.id, wait_seconds=seconds)).run_ids)

    def next_runs(self) -> list[str]:
        """Ask until there are some."""
        while not (run_ids := self.wait_for_runs()):
            pass
        return run_ids

    def claim(self, run_id: str) -> Claim:
        """Wait until the run is assigned, and claim it."""
        claims: list[Claim] = []

        def claimed() -> bool:
            claim = self.try_claim(run_id)
            claims.extend([] if claim is None else [claim])
            return claim is not None

        wait_until(claimed)
        return claims[0]

    def heartbeat(self, *claims: Claim, step: int = 0, **measured: float) -> HeartbeatAnswer:
        """Say that these attempts are alive."""
        attempts = [
            AttemptHeartbeat(run_id=claim.run_id, fencing_token=claim.fencing_token, step=step, **measured)
            for claim in claims
        ]
        return self.client.heartbeat(WorkerHeartbeat(worker_id=self.id, attempts=attempts, system={"cpu": 50.0}))

    def upload(self, claim: Claim, records: Sequence[Record], kind: str = "records") -> int:
        """Append records to the attempt's file on the server."""
        return self.upload_lines(claim, lines_of(records), kind)

    def upload_lines(self, claim: Claim, lines: Sequence[str], kind: str = "records") -> int:
        """Append lines to the attempt's file on the server."""
        key = (claim.run_id, claim.attempt, kind)
        body = batch(lines, token=claim.fencing_token, start=self.offsets.get(key, 0), attempt=claim.attempt, kind=kind)
        self.offsets[key] = self.client.post_records(claim.run_id, body).next_offset
        return self.offsets[key]

    def report(self, claim: Claim, status: str, reason: str | None = None) -> None:
        """Say that the trainer is up, or how it ended."""
        body = {"fencing_token": claim.fencing_token, "status": status, "reason": reason}
        self.client.post_outcome(claim.run_id, AttemptOutcome.model_validate(body))

    def begin(self, run: RunDetail) -> Claim:
        """Claim a run and say that its trainer is up."""
        claim = self.claim(run.id)
        self.report(claim, "running")
        return claim

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Meanwhile say every second that it is alive, so that it stays online however slow a browser is."""
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(1.0):
                self.heartbeat()

        beats = threading.Thread(target=beat)
        beats.start()
        try:
            yield
        finally:
            ended.set()
            beats.join()

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


@pytest.fixture(scope="module")
def worker(backend_server: BackendServer) -> Iterator[FakeWorker]:
    """The one worker of the module; it takes every run."""
    worker = FakeWorker(backend_server)
    yield worker
    worker.close()
