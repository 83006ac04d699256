"""The queue."""

from __future__ import annotations

from bapo.api.queue import LimitChange, QueueMove, QueueState, UserLimits
from bapo.client.call import route


class QueueCalls:
    """The queue."""

    @route("GET /queue")
    def queue(self) -> QueueState:
        """What waits and why, and what runs where."""

    @route("POST /runs/{run_id}/move")
    def move(self, run_id: str, body: QueueMove) -> QueueState:
        """Move a waiting run before or after another, or to the top or bottom."""

    @route("GET /queue/limits")
    def limits(self) -> UserLimits:
        """How many runs each person may have on workers at a time."""

    @route("PUT /queue/limits/{user}")
    def set_limit(self, user: str, body: LimitChange) -> UserLimits:
        """Limit how many runs a person may have on workers at a time."""
