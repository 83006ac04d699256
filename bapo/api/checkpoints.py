"""The checkpoints of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from bapo.api.base import Body, Page


class CheckpointInfo(Body):
    """A checkpoint that the run keeps."""

    step: int
    """Completed training steps."""
    name: str
    """Such as `step-000025`."""
    attempt: int
    """That wrote it."""
    written_at: datetime | None = None
    num_bytes: int | None = None
    """All of it, the optimizer included; None where its machine has not measured it yet."""
    evaluations: Mapping[str, float] = {}
    """Accuracy of the evaluations at that step, by name, such as "CD-34 avg@8"."""


class CheckpointPage(Page):
    """All that a run keeps, newest first."""

    items: Sequence[CheckpointInfo]
    host: str | None = None
    """The machine that holds them; None where nobody's worker trained the run, as after an import."""
