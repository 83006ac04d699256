"""Jobs of workers on run folders: pack, measure, delete, ask a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from bapo.api.base import Body, Text
from bapo.api.workers import ForkSource
from bapo.config import patterns
from bapo.run.artifacts import ArtifactKind
from bapo.run.chat_sides import ChatSide

FolderPart = Literal["folder", "checkpoints", "samples", "log"]
MAX_BYTES = 2**62


class MaintenanceJobsRequest(Body):
    """A worker asks for its jobs."""

    worker_id: str


class PackJob(Body):
    """Pack a download and upload it."""

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
    """Measure a run's folder."""

    run_id: str
    run_dir: str
    fork: ForkSource | None = None
    """A checkpoint to copy into the folder first, before its own run deletes it."""


class ChatJob(Body):
    """Have the models of a run answer."""

    chat_id: str
    run_dir: str
    prompt: str
    sides: Sequence[ChatSide]
    max_tokens: int
    temperature: float
    seed: int
    is_training: bool
    """True while the worker has runs: the answers then take one CPU thread."""


class MaintenanceJobs(Body):
    """All jobs of the worker now; unfinished jobs are repeated."""

    pack: Sequence[PackJob] = ()
    delete: Sequence[DeleteJob] = ()
    measure: Sequence[MeasureJob] = ()
    chat: Sequence[ChatJob] = ()


class UploadProgress(Body):
    """The received part of a download."""

    next_offset: int
    refused: str | None = None
    """Why it was refused; the worker then drops it."""


class ArtifactFinish(Body):
    """A download is uploaded completely."""

    worker_id: str
    num_bytes: int = Field(ge=0, le=MAX_BYTES)
    sha256: str = Field(pattern=patterns.SHA256)


class ArtifactFailure(Body):
    """A download cannot be made."""

    worker_id: str
    reason: Text = Field(min_length=1, max_length=2_000)


class DeletionOutcome(Body):
    """Outcome of a deletion; a failed one is retried."""

    worker_id: str
    reason: Text | None = Field(default=None, max_length=2_000)
    """Why it failed; null if it succeeded."""


class CheckpointSize(Body):
    """A checkpoint on disk."""

    step: int = Field(ge=0, le=2**31 - 1)
    num_bytes: int = Field(ge=0, le=MAX_BYTES)


class FolderSize(Body):
    """Size of a run's folder."""

    run_id: str
    num_bytes: int = Field(ge=0, le=MAX_BYTES)
    checkpoints: Sequence[CheckpointSize] = Field(default=(), max_length=10_000)


class FolderSizes(Body):
    """Measured folders."""

    worker_id: str
    folders: Sequence[FolderSize] = Field(max_length=100)
