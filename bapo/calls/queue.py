"""The queue."""

from __future__ import annotations

from bapo.api import QueueState
from bapo.calls.base import Call, Endpoint, get


class QueueCalls:
    """The queue."""

    @Endpoint
    def queue(self) -> Call[QueueState]:
        """What waits and why, and what runs where."""
        return get("/queue", QueueState)
