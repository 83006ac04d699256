"""Locates the checkpoint that a fork starts from."""

from __future__ import annotations

from backend.models import Run
from backend.settings.environment import Settings
from bapo.api.workers import ForkSource


def fork_source(run: Run, settings: Settings) -> ForkSource | None:
    """Return the checkpoint that a run starts from; None if it is not a fork."""
    if run.fork_step is None:
        return None
    assert run.forked_from is not None, "both are set together"
    return ForkSource(run_id=run.forked_from, run_dir=str(settings.runs_dir / run.forked_from), step=run.fork_step)
