"""Retries of requests: which ones, and after how long."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from bapo.client.errors import PASSING_STATUSES

SAFE_METHODS = frozenset({"GET", "HEAD"})
IDEMPOTENCY_KEY = "Idempotency-Key"


@dataclass(frozen=True)
class Retries:
    """Up to `count` further tries, with waits that double and are drawn between half and all of that.

    Only what cannot happen twice is sent again: reading, and requests that carry an `Idempotency-Key`.
    """

    count: int
    first_seconds: float = 0.5
    most_seconds: float = 8.0

    def wait_seconds(
        self, method: str, headers: Mapping[str, str], tried: int, answer: httpx.Response | None
    ) -> float | None:
        """Return the delay before the next try; None if this answer, or its absence, is final."""
        if tried >= self.count or (method not in SAFE_METHODS and IDEMPOTENCY_KEY not in headers):
            return None
        if answer is None:
            return self.pause_seconds(tried)
        if answer.status_code not in PASSING_STATUSES:
            return None
        asked = answer.headers.get("Retry-After", "")
        return min(float(asked), self.most_seconds) if asked.isdigit() else self.pause_seconds(tried)

    def pause_seconds(self, tried: int) -> float:
        """Return the wait after so many tries."""
        longest: float = min(self.most_seconds, self.first_seconds * 2 ** min(tried, 16))
        return longest * random.uniform(0.5, 1.0)
