"""Keeps the Celery process running and receives its deliveries."""

from __future__ import annotations

import json
import logging
import os
import queue
import subprocess
import sys
import threading

from bapo.deploy.processes import is_foreign

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0

log = logging.getLogger(__name__)


def _own_variables() -> dict[str, str]:
    # Celery takes CELERY_BROKER_URL, which is another program's, before the address that it is given.
    return {name: value for name, value in os.environ.items() if not is_foreign(name)}


class Delivery(threading.Thread):
    """Run ids from the broker, in `run_ids`."""

    def __init__(self, broker_url: str, queue_name: str) -> None:
        super().__init__(name="delivery", daemon=True)
        self.source = (broker_url, queue_name)
        # Not a SimpleQueue: its get() forgets its timeout where a signal is handled late.
        self.run_ids: queue.Queue[str] = queue.Queue()
        self._ended = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self._ended.is_set():
            delivered = self._consume()
            if self._ended.is_set():
                return
            pause = FIRST_PAUSE_SECONDS if delivered else min(2 * pause, LONGEST_PAUSE_SECONDS)
            log.warning("the Celery process ended: starting it again in %.0f s", pause)
            self._ended.wait(pause)

    def _consume(self) -> bool:
        """Run one Celery process until it ends. Returns whether it delivered anything."""
        broker_url, queue_name = self.source
        reading, writing = os.pipe()
        child = subprocess.Popen(
            [sys.executable, "-m", "worker", "consume", "--queue", queue_name, "--pipe", str(writing)],
            # Not an argument: the address may hold a password.
            env={**_own_variables(), "BAPO_BROKER_URL": broker_url},
            stdin=subprocess.PIPE,
            pass_fds=[writing],
        )
        self._child = child
        os.close(writing)
        delivered = False
        with child, os.fdopen(reading, "rb") as pipe:
            for line in pipe:
                delivered = True
                self.run_ids.put(json.loads(line)["run_id"])
        return delivered

    @property
    def pid(self) -> int | None:
        """Process id of the Celery process."""
        return self._child.pid if self._child is not None else None

    def close_pipe(self) -> None:
        """End the Celery process, as happens when the worker dies."""
        assert self._child is not None
        assert self._child.stdin is not None
        self._child.stdin.close()

    def end(self) -> None:
        """Stop the Celery process for good."""
        self._ended.set()
        if self._child is not None:
            self._child.kill()
            self._child.wait()
