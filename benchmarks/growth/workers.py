"""How a server keeps up with workers that each have one trainer, over their number.

A trainer writes its journal as a real one does, and computes nothing. A worker is its calls, in a thread: it registers,
gives signs of life, asks for runs, claims one, uploads its journal with the real uploader and reports its end.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bapo.api.runs import RunCreate
from bapo.api.workers import (
    AssignedRunsRequest,
    AttemptHeartbeat,
    AttemptOutcome,
    ClaimRequest,
    WorkerHeartbeat,
    WorkerRegistration,
)
from bapo.client import ApiError, Client
from bapo.records import StepRecord
from bapo.run.journal import Journal
from benchmarks.deployment import Deployment
from benchmarks.growth.curves import NUM_PROMPTS, Curves, note_memory, small_config
from benchmarks.volume import records
from worker.attempts import Attempt
from worker.upload import Uploader

SIZES, QUICK_SIZES = (1, 20, 200), (1, 10)
STEPS_EACH = 6
"""Steps of each trainer, which writes the next one once the server has the last."""
PATIENCE_SECONDS = 300.0


class _Worker:
    """One worker and its trainer."""

    def __init__(self, server: Deployment, number: int, folder: Path, steps: Sequence[StepRecord]) -> None:
        self._client = Client(server.url, token=server.worker_token)
        body = WorkerRegistration(name=f"w{number}", host=f"w{number}", slots=1, version="0", delivery="https")
        self._id = self._client.register_worker(body).worker_id
        self._folder = folder / str(number)
        self._steps = steps
        self._attempt: Attempt | None = None

    def claim(self) -> float:
        """Wait for a run and take it; the time at which it was this worker's."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            self._client.heartbeat(WorkerHeartbeat(worker_id=self._id, attempts=[]))
            for run_id in self._client.wait_for_runs(AssignedRunsRequest(worker_id=self._id, wait_seconds=5)).run_ids:
                try:
                    claim = self._client.claim(run_id, ClaimRequest(worker_id=self._id))
                except ApiError as error:
                    if error.status != 409:
                        raise
                    continue
                self._attempt = Attempt(
                    run_id=run_id,
                    number=claim.attempt,
                    fencing_token=claim.fencing_token,
                    run_folder=self._folder / run_id,
                )
                return time.perf_counter()
        raise TimeoutError("no run came")

    def train(self) -> None:
        """Write and upload one step after the other, and report the end."""
        attempt = self._attempt
        assert attempt is not None, "claimed before"
        uploader, journal = Uploader(self._client, attempt), Journal(attempt.folder)
        for step in self._steps:
            journal.write(step)
            while uploader.pump(everything=True):
                pass
            token = AttemptHeartbeat(run_id=attempt.run_id, fencing_token=attempt.fencing_token, step=step.step)
            self._client.heartbeat(WorkerHeartbeat(worker_id=self._id, attempts=[token]))
        journal.close()
        outcome = AttemptOutcome(fencing_token=attempt.fencing_token, status="succeeded", step=self._steps[-1].step)
        self._client.post_outcome(attempt.run_id, outcome)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def workers(server: Deployment, *, quick: bool) -> Curves:
    """More and more workers; those of a size are there still at the next."""
    claimed, stored = "a run submitted until it is a worker's", "a step stored, with a sign of life"
    curves: Curves = {claimed: {}, stored: {}}
    config = small_config(STEPS_EACH)
    steps = [each for each in records(config, num_prompts=NUM_PROMPTS) if isinstance(each, StepRecord)]
    there: list[_Worker] = []
    with tempfile.TemporaryDirectory(prefix="bapo-growth-") as folder, server.client() as people:
        for size in QUICK_SIZES if quick else SIZES:
            there += [_Worker(server, number, Path(folder), steps) for number in range(len(there), size)]
            with ThreadPoolExecutor(size) as pool:
                begin = time.perf_counter()
                waiting = [pool.submit(worker.claim) for worker in there]
                for number in range(size):
                    people.create_run(RunCreate(name=f"{number} of {size}", recipe="countdown-demo"))
                last = max(each.result() for each in waiting)
                curves[claimed][size] = 1000 * (last - begin) / size
                start = threading.Barrier(size + 1)

                def train(worker: _Worker, start: threading.Barrier = start) -> None:
                    start.wait()
                    worker.train()

                training = [pool.submit(train, worker) for worker in there]
                start.wait()
                begin = time.perf_counter()
                for each in training:
                    each.result()
                curves[stored][size] = 1000 * (time.perf_counter() - begin) / (size * STEPS_EACH)
            note_memory(curves, server, size)
    for worker in there:
        worker.close()
    return curves
