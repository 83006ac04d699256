"""The checkpoints of a run."""

from __future__ import annotations

from bapo.api.checkpoints import CheckpointPage
from bapo.client.call import Call, Endpoint, get, run_path


class CheckpointCalls:
    """What a run can be continued, forked or downloaded from."""

    @Endpoint
    def checkpoints(self, run_id: str) -> Call[CheckpointPage]:
        """The checkpoints that the run keeps, newest first."""
        return get(run_path(run_id, "checkpoints"), CheckpointPage)
