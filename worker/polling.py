"""Asks the server which runs to look at: a worker without a broker needs no other connection than this one."""

from __future__ import annotations

import logging
import queue
import threading
import time

from bapo.api.workers import LONGEST_WAIT_SECONDS, AssignedRunsRequest
from bapo.client import BapoError, Client
from bapo.client.call import Retries

TIMEOUT_SECONDS = LONGEST_WAIT_SECONDS + 15.0
"""Timeout of a request, which the server answers after `LONGEST_WAIT_SECONDS` at the latest."""
PAUSES = Retries(0)
"""Pauses between retries while the server is unreachable."""
SHORTEST_SECONDS = 1.0
"""Shortest interval between two requests if the first brought nothing, in case a proxy or a server that is shutting
down answers immediately."""

log = logging.getLogger(__name__)


class PolledDelivery(threading.Thread):
    """Run ids from the server, in `run_ids`."""

    def __init__(self, client: Client, worker_id: str) -> None:
        """Use a client whose requests may take `TIMEOUT_SECONDS`."""
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
        """Stop polling. A pending request ends with the process: the server delivers its runs again to some worker."""
        self._ended.set()
