"""Route for the checkpoints of a run."""

from __future__ import annotations

from backend.kit.context import DbSession, new_router
from backend.kit.permissions import Reader
from backend.runs import repository as runs
from backend.runs.checkpoints import service
from bapo.api.artifacts import CheckpointPage

router = new_router("checkpoints")


@router.get("/runs/{run_id}/checkpoints", summary="List a run's checkpoints")
def list_checkpoints(_: Reader, session: DbSession, run_id: str) -> CheckpointPage:
    """List the checkpoints that a run keeps, newest first, with the evaluations at their steps."""
    run = runs.get(session, run_id)
    return CheckpointPage(items=service.kept(session, run), host=run.host)
