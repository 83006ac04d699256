"""The checkpoints of a run."""

from __future__ import annotations

from bapo.api.checkpoints import CheckpointPage
from bapo.client.call import route


class CheckpointCalls:
    """What a run can be continued, forked or downloaded from."""

    @route("GET /runs/{run_id}/checkpoints")
    def checkpoints(self, run_id: str) -> CheckpointPage:
        """The checkpoints that the run keeps, newest first."""
