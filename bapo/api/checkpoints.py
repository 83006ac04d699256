"""Checkpoints of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from bapo.api.base import Body, Page


class CheckpointInfo(Body):
    """A checkpoint of a run."""

    step: int
    """Completed training steps."""
    name: str
    """Name, such as `step-000025`."""
    attempt: int
    """The attempt that wrote it."""
    written_at: datetime | None = None
    num_bytes: int | None = None
    """Total size with the optimizer; null if not measured yet."""
    evaluations: Mapping[str, float] = {}
    """Accuracy of the evaluations at that step, by name, such as "CD-34 avg@8"."""


class CheckpointPage(Page):
    """All checkpoints of a run, newest first."""

    items: Sequence[CheckpointInfo]
    host: str | None = None
    """The machine that has them; null if no worker trained the run, as after an import."""
