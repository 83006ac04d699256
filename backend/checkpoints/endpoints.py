"""What a run can be continued, forked or downloaded from."""

from __future__ import annotations

from backend.checkpoints import service
from backend.kit.context import DbSession, new_router
from backend.kit.permissions import Reader
from backend.runs import repository as runs
from bapo.api.checkpoints import CheckpointPage

router = new_router("checkpoints")


@router.get("/runs/{run_id}/checkpoints", summary="The checkpoints that a run keeps")
def list_checkpoints(_: Reader, session: DbSession, run_id: str) -> CheckpointPage:
    """Newest first, with the evaluations at that step."""
    run = runs.get(session, run_id)
    return CheckpointPage(items=service.kept(session, run), host=run.host)
