"""Downloads of runs, and the checkpoints that can be downloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from bapo.api.base import Body, Page
from bapo.run.artifacts import ArtifactKind

ArtifactState = Literal["requested", "preparing", "ready", "expired", "failed"]


class ArtifactCreate(Body):
    """Request for a download."""

    kind: ArtifactKind = Field(examples=["journal"])
    """`checkpoint`: the model as a Hugging Face folder; `journal`: all that the run's trainers wrote, for `bapo
    import`; `report`: the paper's figures in one HTML file; `config`: TOML; `log` and `samples`: of all attempts."""
    step: int | None = Field(default=None, ge=0, le=2**31 - 1)
    """Step of the checkpoint; only for checkpoints."""

    @model_validator(mode="after")
    def _step_of_a_checkpoint(self) -> Self:
        if (self.kind == "checkpoint") != (self.step is not None):
            raise ValueError("give `step` together with the kind checkpoint, and with no other")
        return self


class ArtifactInfo(Body):
    """A download."""

    id: str
    run_id: str
    kind: ArtifactKind
    step: int | None
    run_step: int
    """Completed steps of the run at the time of the request."""
    state: ArtifactState
    reason: str | None
    """Why it waits or has failed."""
    author: str
    requested_at: datetime
    ready_at: datetime | None
    expires_at: datetime | None
    """When the file will be deleted."""
    file_name: str
    num_bytes: int | None
    """Known once it is packed."""
    received_bytes: int
    """Bytes uploaded so far by the machine that packs it."""
    sha256: str | None


class ArtifactPage(Page):
    """The downloads of a run, newest first."""

    items: Sequence[ArtifactInfo]


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
