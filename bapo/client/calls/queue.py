"""The queue."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.queue import LimitChange, QueueMove, QueueState, UserLimits
from bapo.client.call import Call, Endpoint, answer, get, post, run_path


class QueueCalls:
    """The queue."""

    @Endpoint
    def queue(self) -> Call[QueueState]:
        """What waits and why, and what runs where."""
        return get("/queue", QueueState)

    @Endpoint
    def move(self, run_id: str, body: QueueMove) -> Call[QueueState]:
        """Move a waiting run before or after another, or to the top or bottom."""
        return post(run_path(run_id, "move"), QueueState, body)

    @Endpoint
    def limits(self) -> Call[UserLimits]:
        """How many runs each person may have on workers at a time."""
        return get("/queue/limits", UserLimits)

    @Endpoint
    def set_limit(self, user: str, body: LimitChange) -> Call[UserLimits]:
        """Limit how many runs a person may have on workers at a time."""
        return Call("PUT", f"/queue/limits/{quote(user, safe='')}", answer(UserLimits), body=body)
