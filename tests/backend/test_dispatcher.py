"""Who gets which run, over a real Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from backend.fleet.dispatch.broker import Broker
from backend.kit.database import Database
from backend.models import Attempt
from bapo.api.runs import RunCreate, RunDetail, RunStatus
from bapo.client import Client
from tests.support.fake_worker import FakeWorker
from tests.support.lost_workers import expire, silence
from tests.support.services import BackendServer, RedisServer, new_database, running_backend, wait_until


@pytest.fixture
def rows(server: BackendServer) -> Iterator[Database]:
    database = Database(server.settings.database_url)
    yield database
    database.close()


def submit(client: Client, name: str = "r", priority: int = 50) -> RunDetail:
    return client.create_run(RunCreate(name=name, recipe="countdown-demo", priority=priority))


def delivered(redis_server: RedisServer, worker: FakeWorker) -> list[str]:
    """Run ids in a worker's queue, oldest first."""
    messages = redis_server.client.lrange(worker.welcome.queue, 0, -1)
    headers = [orjson.loads(message)["headers"] for message in reversed(messages)]
    assert all(header["task"] == "bapo.run" for header in headers)
    return [
        orjson.loads(header["argsrepr"].replace("'", '"').replace("(", "[").replace(",)", "]"))[0] for header in headers
    ]


def assigned(client: Client, worker: FakeWorker) -> list[str]:
    (info,) = [info for info in client.workers().items if info.id == worker.id]
    return list(info.run_ids)


def test_runs_go_to_our_broker_whatever_broker_another_program_has(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CELERY_BROKER_URL", "CELERY_BROKER_WRITE_URL"):
        monkeypatch.setenv(name, "redis://127.0.0.1:1/0")
    assert Broker(redis_server.url).send("r1", "ours")
    assert redis_server.client.llen("ours") == 1
    redis_server.client.delete("ours")


def test_a_run_is_sent_to_a_free_worker(server: BackendServer, people: Client, redis_server: RedisServer) -> None:
    worker = FakeWorker(server)
    run = submit(people)
    worker.wait_until(lambda: delivered(redis_server, worker) == [run.id])
    assert assigned(people, worker) == [run.id]
    assert people.run(run.id).worker == "w1"
    assert people.run(run.id).status is RunStatus.QUEUED
    worker.close()


def test_a_run_waits_for_a_worker_and_says_so(server: BackendServer, people: Client) -> None:
    run = submit(people)
    wait_until(lambda: people.run(run.id).status_reason == "waits for a worker: none is connected")
    worker = FakeWorker(server)
    worker.claim(run.id)
    assert people.run(run.id).status_reason is None
    worker.close()


def test_slots_bound_what_a_worker_gets(server: BackendServer, people: Client) -> None:
    worker = FakeWorker(server, slots=2)
    runs = [submit(people, str(i)) for i in range(3)]
    claims = [worker.claim(run.id) for run in runs[:2]]
    worker.wait_until(lambda: people.run(runs[2].id).status_reason == "waits for a free slot")
    worker.report(claims[0], "succeeded")
    assert worker.claim(runs[2].id).run_id == runs[2].id
    worker.close()


def test_priority_comes_before_age(server: BackendServer, people: Client) -> None:
    submitted = {name: submit(people, name, priority) for name, priority in (("old", 50), ("low", 0), ("high", 90))}
    later = submit(people, "young", 50)
    worker = FakeWorker(server, slots=1)
    order = []
    for _ in range(4):
        worker.wait_until(lambda: len(assigned(people, worker)) == 1)
        (run_id,) = assigned(people, worker)
        order.append(people.run(run_id).name)
        worker.report(worker.claim(run_id), "succeeded")
    assert order == ["high", "old", "young", "low"]
    assert later.id
    assert submitted
    worker.close()


def test_work_is_spread_over_workers(server: BackendServer, people: Client) -> None:
    workers = [FakeWorker(server, name, slots=2) for name in ("a", "b")]
    for i in range(2):
        submit(people, str(i))
    workers[0].wait_until(lambda: [len(assigned(people, worker)) for worker in workers if worker.heartbeat()] == [1, 1])
    for worker in workers:
        worker.close()


def test_a_started_run_stays_on_its_host(server: BackendServer, people: Client, rows: Database) -> None:
    first = FakeWorker(server, "first", host="one")
    run = submit(people)
    first.report(first.claim(run.id), "lost", "killed")
    second = FakeWorker(server, "second", host="two")
    silence(rows, first)

    def waits_for_its_host() -> bool:
        second.heartbeat()
        return people.run(run.id).status_reason == "waits for a worker on one, which has its folder"

    wait_until(waits_for_its_host)
    assert first.claim(run.id).attempt == 2
    first.close()
    second.close()


def test_the_broker_may_be_away(server: BackendServer, people: Client, redis_server: RedisServer) -> None:
    worker = FakeWorker(server)
    redis_server.stop()
    try:
        run = submit(people)
        worker.wait_until(lambda: assigned(people, worker) == [run.id])
    finally:
        redis_server.start()
    worker.wait_until(lambda: delivered(redis_server, worker) == [run.id])
    worker.close()


def test_what_is_not_claimed_is_sent_again(
    server: BackendServer, people: Client, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.workers.repository.RESEND_SECONDS", 0.1)
    worker = FakeWorker(server)
    run = submit(people)
    worker.wait_until(lambda: len(delivered(redis_server, worker)) >= 1)
    redis_server.client.flushall()
    worker.wait_until(lambda: run.id in delivered(redis_server, worker))
    worker.claim(run.id)
    worker.close()


def test_a_promise_is_withdrawn_from_a_worker_that_is_gone(
    server: BackendServer, people: Client, rows: Database
) -> None:
    gone = FakeWorker(server, "gone")
    run = submit(people)
    wait_until(lambda: assigned(people, gone) == [run.id])
    silence(rows, gone)
    wait_until(lambda: assigned(people, gone) == [])
    assert {info.name: info.online for info in people.workers().items} == {"gone": False}
    present = FakeWorker(server, "present")
    assert present.claim(run.id).attempt == 1
    gone.close()
    present.close()


def test_a_lost_attempt_goes_on_when_its_worker_comes_back(
    server: BackendServer, people: Client, rows: Database
) -> None:
    worker = FakeWorker(server)
    run = submit(people)
    claim = worker.begin(run)
    silence(rows, worker)
    expire(rows, run.id)
    wait_until(lambda: people.run(run.id).status is RunStatus.QUEUED)
    assert worker.heartbeat(claim).revoked == []
    now = people.run(run.id)
    assert (now.status, now.attempt) == (RunStatus.RUNNING, 1)
    with rows.session() as session:
        assert [attempt.state for attempt in session.query(Attempt)] == ["running"]
    worker.close()


def test_a_server_that_was_down_loses_no_run(postgres_server: str, redis_server: RedisServer, tmp_path: Path) -> None:
    with new_database(postgres_server) as url:
        with running_backend(url, tmp_path, redis_server.url) as server, server.client() as client:
            worker = FakeWorker(server)
            run = submit(client)
            claim = worker.begin(run)
            worker.close()
        database = Database(url)
        expire(database, run.id)
        database.close()
        with running_backend(url, tmp_path, redis_server.url) as server, server.client() as client:
            worker = FakeWorker(server)
            wait_until(lambda: server.server.started)
            assert worker.heartbeat(claim).revoked == []
            assert client.run(run.id).status is RunStatus.RUNNING
            moves = [entry.detail["to"] for entry in client.history(run.id).audit if entry.action == "status"]
            assert "lost" not in moves
            worker.close()
