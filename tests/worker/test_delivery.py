"""Celery carries run ids over a real Redis, and its process never outlives the worker."""

from __future__ import annotations

import os
import queue
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from redis import Redis

from bapo.client import Client
from bapo.deploy.up.folder import DataFolder
from bapo.deploy.up.redis import EmbeddedRedis
from bapo.deploy.up.supervision import Supervisor
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from worker.consumer import RUN_TASK, celery_app
from worker.delivery import Delivery
from worker.polling import PolledDelivery


@pytest.fixture
def redis() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="bapo-worker-") as path:
        folder = DataFolder(Path(path))
        folder.prepare()
        supervisor = Supervisor(folder, print, threading.Event())
        server = EmbeddedRedis(folder)
        supervisor.wait_until(supervisor.start(server.spec()), server.is_ready)
        yield server.url
        supervisor.stop_all()


@pytest.fixture
def delivery(redis: str) -> Iterator[Delivery]:
    made = Delivery(redis, "worker-a")
    made.start()
    yield made
    made.end()
    made.join()


def send(broker_url: str, run_id: str, queue_name: str = "worker-a") -> None:
    with celery_app(broker_url) as app:
        app.send_task(RUN_TASK, args=[run_id], queue=queue_name)


def test_run_ids_arrive_in_order_and_only_from_the_own_queue(redis: str, delivery: Delivery) -> None:
    send(redis, "not ours", "worker-b")
    for run_id in ("r1", "r2", "r3"):
        send(redis, run_id)
    assert [delivery.run_ids.get(timeout=PATIENCE_SECONDS) for _ in range(3)] == ["r1", "r2", "r3"]
    with Redis(unix_socket_path=urlsplit(redis).path) as broker:
        # It came before the others, and is still there.
        assert broker.llen("worker-b") == 1


def test_a_killed_celery_process_is_replaced(redis: str, delivery: Delivery) -> None:
    send(redis, "r1")
    assert delivery.run_ids.get(timeout=PATIENCE_SECONDS) == "r1"
    assert delivery.pid is not None
    os.kill(delivery.pid, signal.SIGKILL)
    # What Redis hands to a process before it has seen that it died is lost; the dispatcher sends it again.
    with Redis(unix_socket_path=urlsplit(redis).path) as broker:
        wait_until(lambda: not any("b" in client["flags"] for client in broker.client_list()))
    send(redis, "r2")
    assert delivery.run_ids.get(timeout=PATIENCE_SECONDS) == "r2"


def test_the_celery_process_ends_with_its_worker(redis: str, delivery: Delivery) -> None:
    send(redis, "r1")
    assert delivery.run_ids.get(timeout=PATIENCE_SECONDS) == "r1"
    process = psutil.Process(delivery.pid)
    # What the kernel does to the pipe of a killed worker.
    delivery.close_pipe()
    process.wait(PATIENCE_SECONDS)


def _from_broker(_: Client) -> Delivery:
    return Delivery("redis://nowhere", "queue")


def _over_https(client: Client) -> PolledDelivery:
    return PolledDelivery(client, "worker")


@pytest.mark.parametrize("source", [_from_broker, _over_https])
def test_waiting_for_a_run_ends_in_time_however_late_a_signal_is_handled(
    source: Callable[[Client], Delivery | PolledDelivery],
) -> None:
    handled: list[int] = []

    def handle(number: int, _: object) -> None:
        assert not handled, "it waits forever"
        handled.append(number)
        time.sleep(0.2)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS)

    before = signal.signal(signal.SIGALRM, handle)
    try:
        with Client("http://nowhere") as client:
            run_ids = source(client).run_ids
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(queue.Empty):
            run_ids.get(timeout=0.1)
        assert handled == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
