"""Workers that ask the server for their runs, with no broker anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backend.kit import instruments
from bapo.api.runs import RunCreate, RunDetail
from bapo.api.workers import AssignedRunsRequest
from bapo.client import ApiError, Client, UnreachableError
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, new_database, running_backend, wait_until
from tests.support.waiting import PATIENCE_SECONDS


@pytest.fixture
def remote(backend_server: BackendServer, admin: Client) -> Iterator[FakeWorker]:
    """It has no slot to spare, so that each test's run is the only one."""
    worker = FakeWorker(backend_server, "remote", slots=1, delivery="https")
    yield worker
    worker.close()
    for held in next(each for each in admin.workers().items if each.id == worker.id).run_ids:
        admin.stop(held)


@pytest.fixture
def long_resend(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said once is not said again."""
    monkeypatch.setattr("backend.workers.repository.RESEND_SECONDS", 1_000.0)


def submit(admin: Client) -> RunDetail:
    return admin.create_run(RunCreate(name="remote", recipe="countdown-demo"))


@pytest.mark.usefixtures("long_resend")
def test_a_worker_that_waits_is_told_of_its_run(remote: FakeWorker, admin: Client) -> None:
    admin.drain_worker(remote.id)
    run = submit(admin)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(remote.next_runs)
        admin.undrain_worker(remote.id)
        assert waiting.result(PATIENCE_SECONDS) == [run.id]
    assert remote.wait_for_runs(0) == []
    remote.report(remote.claim(run.id), "succeeded")
    (info,) = (each for each in admin.queue().workers if each.id == remote.id)
    assert info.delivery == "https"


def test_what_is_not_claimed_is_said_again_and_what_is_claimed_never(
    remote: FakeWorker, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.workers.repository.RESEND_SECONDS", 0.0)
    run = submit(admin)
    wait_until(lambda: remote.wait_for_runs(0) == [run.id])
    # The first answer was lost, say.
    assert remote.wait_for_runs(0) == [run.id]
    claim = remote.claim(run.id)
    assert remote.wait_for_runs(0) == []
    # A late or repeated answer leads to nothing.
    assert remote.try_claim(run.id) is None
    remote.report(claim, "succeeded")


@pytest.mark.usefixtures("long_resend")
def test_a_run_is_one_workers_only(remote: FakeWorker, backend_server: BackendServer, admin: Client) -> None:
    other = FakeWorker(backend_server, "other", slots=1, delivery="https")
    told: dict[str, list[str]] = {"remote": [], "other": []}
    run = submit(admin)

    def is_told() -> bool:
        for worker in (remote, other):
            told[worker.body.name] += worker.wait_for_runs(0)
        return any(told.values())

    wait_until(is_told)
    holder, stranger = (remote, other) if told["remote"] else (other, remote)
    assert told[stranger.body.name] == []
    assert stranger.try_claim(run.id) is None
    holder.report(holder.claim(run.id), "succeeded")
    admin.drain_worker(other.id)
    other.close()


@pytest.mark.usefixtures("long_resend")
def test_nobody_takes_what_is_meant_for_a_workers_successor(
    remote: FakeWorker, backend_server: BackendServer, admin: Client
) -> None:
    admin.drain_worker(remote.id)
    killed = Client(backend_server.url, token=backend_server.worker_token, timeout_seconds=0.5)
    with killed, pytest.raises(UnreachableError):
        killed.wait_for_runs(AssignedRunsRequest(worker_id=remote.id))
    run = submit(admin)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(remote.next_runs)
        admin.undrain_worker(remote.id)
        assert waiting.result(PATIENCE_SECONDS) == [run.id]
    remote.report(remote.claim(run.id), "succeeded")


def test_an_unknown_worker_waits_for_nothing(remote: FakeWorker) -> None:
    with pytest.raises(ApiError) as refusal:
        remote.client.wait_for_runs(AssignedRunsRequest(worker_id="nobody"))
    assert refusal.value.status == 404


def test_a_server_that_stops_answers_at_once(postgres_server: str, tmp_path: Path) -> None:
    with (
        ThreadPoolExecutor(1) as pool,
        new_database(postgres_server) as url,
        running_backend(url, tmp_path) as server,
    ):
        worker = FakeWorker(server, delivery="https")
        waiting = pool.submit(worker.wait_for_runs)
        wait_until(lambda: instruments.REGISTRY.get_sample_value("bapo_http_requests_in_progress") == 1)
        server.server.stop()
        # Cut off, as requests are that last longer than a server takes to end, it would raise.
        assert waiting.result(PATIENCE_SECONDS) == []
        worker.close()
