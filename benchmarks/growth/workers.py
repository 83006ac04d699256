"""Speed of a server with workers that each have one trainer, over their number.

A trainer writes its journal as a real one does, and computes nothing. A worker is its calls, in a thread: it registers,
gives signs of life, asks for runs, claims one, uploads its journal with the real uploader and reports its end.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bapo.api.runs import RunCreate
from bapo.api.workers import AttemptHeartbeat, WorkerHeartbeat
from bapo.records import StepRecord
from bapo.run.journal import Journal
from benchmarks.deployment import ClaimingWorker, Deployment
from benchmarks.growth.curves import NUM_PROMPTS, Curves, note_memory, small_config
from benchmarks.volume import records
from worker.attempts import Attempt
from worker.upload import Uploader

SIZES, QUICK_SIZES = (1, 20, 200), (1, 10)
STEPS_EACH = 6
"""Steps of each trainer, which writes the next one once the server has the last."""


def _train(worker: ClaimingWorker, attempt: Attempt, steps: Sequence[StepRecord]) -> None:
    """Write and upload one step after the other, and report the end."""
    uploader, journal = Uploader(worker.client, attempt), Journal(attempt.folder)
    for step in steps:
        journal.write(step)
        while uploader.pump(everything=True):
            pass
        living = AttemptHeartbeat(run_id=attempt.run_id, fencing_token=attempt.fencing_token, step=step.step)
        worker.client.heartbeat(WorkerHeartbeat(worker_id=worker.id, attempts=[living]))
    journal.close()
    worker.succeed(attempt, steps[-1].step)


def workers(server: Deployment, *, quick: bool) -> Curves:
    """Measure more and more workers; those of one size stay for the next."""
    claimed, stored = "per run until all are claimed", "per step stored, with a sign of life"
    curves: Curves = {claimed: {}, stored: {}}
    config = small_config(STEPS_EACH)
    steps = [each for each in records(config, num_prompts=NUM_PROMPTS) if isinstance(each, StepRecord)]
    there: list[ClaimingWorker] = []
    with tempfile.TemporaryDirectory(prefix="bapo-growth-") as name, server.client() as people:
        for size in QUICK_SIZES if quick else SIZES:
            there += [ClaimingWorker(server, f"w{number}") for number in range(len(there), size)]
            folders = [Path(name) / f"{number}-of-{size}" for number in range(size)]
            with ThreadPoolExecutor(size) as pool:
                begin = time.perf_counter()
                waiting = [pool.submit(worker.claim, folder) for worker, folder in zip(there, folders, strict=True)]
                for number in range(size):
                    people.create_run(RunCreate(name=f"{number} of {size}", recipe="countdown-demo"))
                attempts = [each.result() for each in waiting]
                curves[claimed][size] = 1000 * (time.perf_counter() - begin) / size
                begin = time.perf_counter()
                list(pool.map(_train, there, attempts, [steps] * size))
                curves[stored][size] = 1000 * (time.perf_counter() - begin) / (size * STEPS_EACH)
            note_memory(curves, server, size)
    for worker in there:
        worker.client.close()
    return curves
