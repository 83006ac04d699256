"""Storage use, retention and deletion."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from bapo.api.base import Body, Text
from bapo.api.maintenance_jobs import FolderPart
from bapo.api.runs import MAX_BULK, RunStatus

RetainedPart = Literal["samples", "log", "checkpoints", "artifacts", "archived", "trash"]


class RunSpace(Body):
    """Storage used by a run."""

    run_id: str
    name: str
    owner: str
    status: RunStatus
    host: str | None
    """The machine that has its folder."""
    num_bytes: int
    """Folder, records and downloads together."""
    folder_bytes: int | None
    """Null if not measured yet."""
    checkpoint_bytes: int | None
    """Part of the folder."""
    database_bytes: int | None
    artifact_bytes: int
    trashed_at: datetime | None
    """Since when it is in the trash; null if it is not."""
    trashed_by: str | None
    is_kept: bool
    """True if a user has starred it or it is tagged `keep`: never deleted automatically."""


class PendingDeletion(Body):
    """A folder, or part of one, that a worker has yet to delete."""

    id: int
    run_id: str
    run_name: str
    part: FolderPart
    host: str | None
    author: str
    requested_at: datetime
    num_tries: int
    reason: str | None
    """Why it is not done yet."""


class RetentionRule(Body):
    """A retention rule, and what it would delete now."""

    part: RetainedPart
    days: float | None
    """Days after the end of a run, after archiving, after a download was made, or in the trash; null: never."""
    num_due: int
    """Number of runs or downloads that are due."""
    due: Sequence[str]
    """IDs of the first of them."""


class StorageState(Body):
    """Storage used by all runs, largest first."""

    runs: Sequence[RunSpace]
    num_runs: int
    folder_bytes: int
    """Total of all measured folders."""
    record_bytes: int
    """Total of all measured records."""
    database_bytes: int
    """Size of the database on disk, including free space."""
    artifact_bytes: int
    artifact_quota_bytes: int
    num_trashed: int
    """Runs in the trash, which the totals include."""
    trash_bytes: int
    """Size of the trash: folders, records and downloads."""
    deletions: Sequence[PendingDeletion]
    retention: Sequence[RetentionRule]


class CompactReport(Body):
    """Size of the tables of records before and after compacting."""

    before_bytes: int
    after_bytes: int


class DeletionRequest(Body):
    """Runs to delete."""

    run_ids: Sequence[Text] = Field(min_length=1, max_length=MAX_BULK, examples=[["kzx3f0a9qe"]])


class DeletionItem(Body):
    """The part of a deletion that concerns one run."""

    run_id: str
    name: str
    refusal: str | None
    """Why it cannot be deleted now."""
    num_steps: int
    num_samples: int
    num_checkpoints: int
    num_artifacts: int
    num_bytes: int
    """Measured size, folder included."""
    children: Sequence[str]
    """IDs of its clones and forks: they stay, and lose the link to it."""
    waiting_forks: Sequence[str]
    """Forks that still need its checkpoint: its folder stays until they have started."""


class DeletionPreview(Body):
    """Preview of a deletion; nothing is deleted."""

    items: Sequence[DeletionItem]
    num_bytes: int
    """Total of the runs that can be deleted."""
    trash_days: float = 0.0
    """Days that deleted runs wait in the trash; 0: they are deleted at once."""
