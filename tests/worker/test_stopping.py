"""Trainers that must end because their machine does, with a real server and trainers on the simulated engine."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from bapo.api.runs import RunCreate, RunDetail, RunStatus
from bapo.api.workers import Claim, RecordBatch
from bapo.client import Client
from bapo.client.call import Call
from bapo.run.checkpoint import CHECKPOINTS_FOLDER, checkpoint_name
from bapo.run.journal import RECORDS_FILE
from bapo.run.run_folder import SUMMARY_FILE
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, wait_until
from tests.support.simulated_training import simulated_training
from tests.support.small_runs import steps_of
from tests.support.stack import submit
from worker.attempts import Attempt, AttemptStore
from worker.supervision import AttemptSupervisor, StopLimits

T = TypeVar("T")


@pytest.fixture(scope="module", autouse=True)
def _simulated() -> Iterator[None]:
    with simulated_training():
        yield


@pytest.fixture
def claim(admin: Client, worker: FakeWorker) -> Claim:
    # No checkpoint is due: only a stop writes one.
    return worker.claim(submit(admin, "long", **{"training.steps": 100_000, "training.checkpoint_interval": 100_000}))


def supervised(client: Client, claim: Claim, folder: Path, limits: StopLimits) -> AttemptSupervisor:
    attempt = Attempt(run_id=claim.run_id, number=1, fencing_token=claim.fencing_token, run_folder=folder / "run")
    return AttemptSupervisor(client, AttemptStore(folder / "attempts"), attempt, claim, limits)


def supervise(worker: FakeWorker, supervisor: AttemptSupervisor, meanwhile: Callable[[], None] = lambda: None) -> None:
    with worker.beating():
        supervisor.start()
        meanwhile()
        supervisor.join()


class KnownLater(StopLimits):
    """A machine of which it becomes known that it ends in 55 s: 45 s for the trainer's end and 10 s for the report.

    From the second look on, `left` seconds are left.
    """

    known = False
    left = 10.0
    num_looks = 0

    def seconds_left(self) -> float | None:
        if not self.known:
            return None
        self.num_looks += 1
        return 55.0 if self.num_looks == 1 else self.left


def test_a_run_is_given_back_before_the_machine_ends(
    worker: FakeWorker, admin: Client, claim: Claim, tmp_path: Path
) -> None:
    limits = KnownLater(600.0)
    supervisor = supervised(worker.client, claim, tmp_path, limits)

    def end() -> None:
        wait_until(lambda: supervisor.step >= 1)
        limits.known = True

    supervise(worker, supervisor, end)
    run = admin.run(claim.run_id)
    assert (run.status, run.status_reason) == (RunStatus.QUEUED, "its machine stopped it after a checkpoint")
    assert (tmp_path / "run" / CHECKPOINTS_FOLDER / checkpoint_name(run.step)).is_dir()


class Behind(Client):
    """Gets its answer to records only once the trainer has written more of them, or has ended."""

    attempt: Attempt

    def send(self, call: Call[T]) -> T:
        answer = super().send(call)
        if isinstance(call.body, RecordBatch) and call.body.kind == "records":
            known, folder = call.body.end_offset, self.attempt.folder
            wait_until(lambda: (folder / RECORDS_FILE).stat().st_size > known or (folder / SUMMARY_FILE).exists())
        return answer


def test_a_stop_does_not_wait_for_a_server_that_is_always_behind(
    backend_server: BackendServer, worker: FakeWorker, admin: Client, claim: Claim, tmp_path: Path
) -> None:
    with Behind(backend_server.url, token=backend_server.worker_token) as client:
        supervisor = supervised(client, claim, tmp_path, StopLimits(600.0))
        client.attempt = supervisor.attempt

        def shut_down() -> None:
            wait_until(lambda: supervisor.step >= 1)
            supervisor.shut_down()

        supervise(worker, supervisor, shut_down)
    run = admin.run(claim.run_id)
    assert (run.status, run.step) == (RunStatus.QUEUED, steps_of(tmp_path / "run")[-1].step)


def test_a_trainer_is_killed_where_less_than_ten_seconds_are_left_to_report(
    worker: FakeWorker, admin: Client, claim: Claim, tmp_path: Path
) -> None:
    limits = KnownLater(600.0)
    limits.left = 9.9
    supervisor = supervised(worker.client, claim, tmp_path, limits)

    def end() -> None:
        wait_until(lambda: supervisor.attempt.pid is not None)
        assert supervisor.attempt.pid is not None
        # A trainer that does not get on: only SIGKILL ends it.
        os.kill(supervisor.attempt.pid, signal.SIGSTOP)
        limits.known = True

    supervise(worker, supervisor, end)
    run = admin.run(claim.run_id)
    assert (run.status, run.retry_reason) == (RunStatus.QUEUED, "the trainer was ended by SIGKILL")


def test_a_trainer_that_does_not_end_in_its_time_is_killed(
    worker: FakeWorker, admin: Client, claim: Claim, tmp_path: Path
) -> None:
    supervisor = supervised(worker.client, claim, tmp_path, StopLimits(0.0))

    def shut_down() -> None:
        wait_until(lambda: supervisor.attempt.pid is not None)
        supervisor.shut_down()

    supervise(worker, supervisor, shut_down)
    run = admin.run(claim.run_id)
    assert run.status is RunStatus.QUEUED
    assert "SIG" in (run.retry_reason or "")


def test_a_worker_whose_machine_ends_gets_no_run_that_would_not_fit(
    backend_server: BackendServer, worker: FakeWorker, admin: Client, claim: Claim
) -> None:
    worker.heartbeat(claim, start_seconds=100.0, stop_seconds=200.0)
    assert admin.run(claim.run_id).stop_seconds == 200.0
    held = next(each for each in admin.queue().workers if each.id == worker.id)
    assert [run.stop_seconds for run in held.runs if run.id == claim.run_id] == [200.0]
    # 100 s to start and 1.5 · 200 s + 10 s to stop are 410 s.
    end = datetime.now(UTC) + timedelta(seconds=300)
    ends = FakeWorker(backend_server, "ends", host="box", drain_before=end)
    (listed,) = (each for each in admin.workers().items if each.id == ends.id)
    assert listed.drain_before == end
    admin.drain_worker(worker.id)
    worker.report(claim, "stopped")

    def waiting() -> RunDetail:
        ends.heartbeat()
        return admin.run(claim.run_id)

    reason = "waits for a worker that does not end soon: to start and to stop it needs 410 s"
    wait_until(lambda: waiting().status_reason == reason)
    # A run without a step needs 90 s.
    other = admin.create_run(RunCreate(name="new", recipe="countdown-quick"))
    assert ends.claim(other.id).run_id == other.id
    admin.undrain_worker(worker.id)
    ends.close()
