"""The Celery process: takes run ids from this worker's queue and passes them on to the worker.

Celery delivers, nothing more: a task is acknowledged before it is looked at, and passing it on takes no time. The
process is apart from the worker so that it can be replaced when its connection to the broker has gone deaf: it sends
itself a message now and then, and ends when none arrives. It also ends when the worker does, whose pipe then closes.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
import warnings

from celery import Celery
from celery.exceptions import SecurityWarning
from kombu.exceptions import OperationalError

RUN_TASK = "bapo.run"
CANARY_TASK = "bapo.canary"
CANARY_INTERVAL_SECONDS = 30.0
DEAF_AFTER_SECONDS = 90.0
EXIT_DEAF = 75

log = logging.getLogger(__name__)


def celery_app(broker_url: str) -> Celery:
    """Set up Celery for this product: JSON only, early acknowledgement, one message at a time, no results."""
    app = Celery("bapo", broker=broker_url, set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={"socket_connect_timeout": 5, "socket_keepalive": True},
    )
    return app


def consume(broker_url: str, queue: str, pipe: int) -> None:
    """Pass every run id of the queue on through the pipe, until the broker stops answering or the worker is gone."""
    app = celery_app(broker_url)
    heard = time.monotonic()

    @app.task(name=RUN_TASK)  # type: ignore[untyped-decorator]
    def run(run_id: str) -> None:
        # One short write is atomic on a pipe.
        os.write(pipe, json.dumps({"run_id": run_id}).encode() + b"\n")

    @app.task(name=CANARY_TASK)  # type: ignore[untyped-decorator]
    def canary() -> None:
        nonlocal heard
        heard = time.monotonic()

    def end_with_the_worker() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    def watch_the_broker() -> None:
        sent_unheard_since: float | None = None
        while True:
            time.sleep(CANARY_INTERVAL_SECONDS)
            try:
                app.send_task(CANARY_TASK, queue=queue, expires=CANARY_INTERVAL_SECONDS, retry=False)
            except OperationalError:
                # The broker is away, which is not deafness: Celery connects again by itself.
                sent_unheard_since = None
                continue
            if sent_unheard_since is None or heard > sent_unheard_since:
                sent_unheard_since = time.monotonic()
            elif time.monotonic() - sent_unheard_since > DEAF_AFTER_SECONDS:
                log.error("no message came back for %.0f s: restarting", DEAF_AFTER_SECONDS)
                os._exit(EXIT_DEAF)

    for watch in (end_with_the_worker, watch_the_broker):
        threading.Thread(target=watch, name=watch.__name__, daemon=True).start()
    # It warns of pickled messages taken by root; only JSON is accepted.
    warnings.simplefilter("ignore", SecurityWarning)
    options = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True, "quiet": True}
    app.Worker(queues=[queue], pool="solo", **options).start()
