"""Asks the server which runs to look at: a worker without a broker needs no other connection than this one."""

from __future__ import annotations

import logging
import queue
import threading
import time

from bapo.api.workers import LONGEST_WAIT_SECONDS, AssignedRunsRequest
from bapo.client import BapoError, Client
from bapo.client.retries import Retries

TIMEOUT_SECONDS = LONGEST_WAIT_SECONDS + 15.0
"""Of a request, which the server answers after `LONGEST_WAIT_SECONDS` at the latest."""
PAUSES = Retries(0)
"""Between the tries while the server is away."""
SHORTEST_SECONDS = 1.0
"""Between two requests of which the first brought nothing: whoever answers at once, in place of the server or because
it stops, is not asked again at once."""

log = logging.getLogger(__name__)


class PolledDelivery(threading.Thread):
    """Run ids from the server, in `run_ids`."""

    def __init__(self, client: Client, worker_id: str) -> None:
        """The client's requests may take `TIMEOUT_SECONDS`."""
        super().__init__(name="delivery", daemon=True)
        self.source = ("https", worker_id)
        # Not a SimpleQueue: its get() forgets its timeout where a signal is handled late.
        self.run_ids: queue.Queue[str] = queue.Queue()
        self._client = client
        self._worker_id = worker_id
        self._ended = threading.Event()

    def run(self) -> None:
        failed = 0
        while not self._ended.is_set():
            asked_at = time.monotonic()
            try:
                run_ids = self._client.wait_for_runs(AssignedRunsRequest(worker_id=self._worker_id)).run_ids
            except BapoError as error:
                if not failed:
                    log.warning("no runs from the server, asking again: %s", error)
                self._ended.wait(PAUSES.pause_seconds(failed))
                failed += 1
                continue
            if failed:
                log.info("the server answers again")
            failed = 0
            for run_id in run_ids:
                self.run_ids.put(run_id)
            if not run_ids:
                self._ended.wait(max(0.0, asked_at + SHORTEST_SECONDS - time.monotonic()))

    def end(self) -> None:
        """Ask no more. A request under way ends with the process: what it brings is sent again to somebody."""
        self._ended.set()
