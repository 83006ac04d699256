"""What a worker does with run folders beside training: pack, measure, delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from bapo.api.base import Body, Text
from bapo.api.workers import ForkSource
from bapo.run.artifacts import ArtifactKind

FolderPart = Literal["folder", "checkpoints", "samples", "log"]
MAX_BYTES = 2**62


class MaintenanceJobsRequest(Body):
    """A worker asks what there is to do for it."""

    worker_id: str


class PackJob(Body):
    """Pack an artifact and upload it."""

    artifact_id: str
    run_dir: str
    kind: ArtifactKind
    step: int | None
    file_name: str


class DeleteJob(Body):
    """Delete a run's folder, or a part of it."""

    deletion_id: int
    run_dir: str
    part: FolderPart


class MeasureJob(Body):
    """Say how large a run's folder is."""

    run_id: str
    run_dir: str
    fork: ForkSource | None = None
    """A checkpoint to copy into it first: the run waits, and the other may not keep it for so long."""


class MaintenanceJobs(Body):
    """All that the worker should do now; what it has begun before is named again until it is done."""

    pack: Sequence[PackJob] = ()
    delete: Sequence[DeleteJob] = ()
    measure: Sequence[MeasureJob] = ()


class UploadProgress(Body):
    """How much of an artifact the server has."""

    next_offset: int
    refused: str | None = None
    """Why it is not taken; the worker forgets it then."""


class ArtifactFinish(Body):
    """All of an artifact is uploaded."""

    worker_id: str
    num_bytes: int = Field(ge=0, le=MAX_BYTES)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class ArtifactFailure(Body):
    """An artifact cannot be made."""

    worker_id: str
    reason: Text = Field(min_length=1, max_length=2_000)


class DeletionOutcome(Body):
    """What became of a deletion; one that was not done is tried again."""

    worker_id: str
    reason: Text | None = Field(default=None, max_length=2_000)
    """Why it was not done; None where it was."""


class CheckpointSize(Body):
    """A checkpoint on disk."""

    step: int = Field(ge=0, le=2**31 - 1)
    num_bytes: int = Field(ge=0, le=MAX_BYTES)


class FolderSize(Body):
    """What a run's folder takes up."""

    run_id: str
    num_bytes: int = Field(ge=0, le=MAX_BYTES)
    checkpoints: Sequence[CheckpointSize] = Field(default=(), max_length=10_000)


class FolderSizes(Body):
    """Measured folders."""

    worker_id: str
    folders: Sequence[FolderSize] = Field(max_length=100)
