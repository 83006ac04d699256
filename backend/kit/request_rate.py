"""Bounds how often one address may ask for what needs no login. Each server process counts for itself."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from backend.kit.errors import Problem
from bapo.deploy.proxies import network_of

MOST_ADDRESSES = 10_000
"""Remembered; of more the one is forgotten that asked longest ago."""


class RequestRate:
    """A bucket for each client that holds `most` requests and fills up again within `seconds`."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._per_second, self._clock = most, most / seconds, clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str) -> None:
        """Count a request. Raises Problem 429 with the seconds to wait where there were too many."""
        client, now = network_of(address), self._clock()
        with self._lock:
            left, at = self._buckets.pop(client, (float(self._most), now))
            left = min(float(self._most), left + (now - at) * self._per_second)
            self._buckets[client] = (max(0.0, left - 1), now) if left >= 1 else (left, now)
            if len(self._buckets) > MOST_ADDRESSES:
                self._buckets.popitem(last=False)
        if left < 1:
            wait = math.ceil((1 - left) / self._per_second)
            remedy = f"too many requests from this address: try again in {wait} s"
            raise Problem(429, "too_many_requests", remedy, headers={"Retry-After": str(wait)})
