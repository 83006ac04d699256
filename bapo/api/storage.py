"""What runs take up, what goes after a while, and what deleting would take away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from bapo.api.base import Body, Text
from bapo.api.maintenance_jobs import FolderPart
from bapo.api.runs import MAX_BULK, RunStatus

RetainedPart = Literal["samples", "log", "checkpoints", "artifacts", "archived"]


class RunSpace(Body):
    """What a run takes up."""

    run_id: str
    name: str
    owner: str
    status: RunStatus
    host: str | None
    """The machine with its folder."""
    num_bytes: int
    """Folder, records and downloads together."""
    folder_bytes: int | None
    """None where its machine has not measured it yet."""
    checkpoint_bytes: int | None
    """Part of the folder."""
    database_bytes: int | None
    artifact_bytes: int
    is_kept: bool
    """Starred by somebody or tagged `keep`: nothing of it goes by itself."""


class PendingDeletion(Body):
    """A folder, or a part of one, that a worker still has to delete."""

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
    """What goes by itself, and what would go now."""

    part: RetainedPart
    days: float | None
    """After the end of a run, after it was archived, or after a download was made; None: never."""
    num_due: int
    """Runs, or downloads, that the next rounds take it from."""
    due: Sequence[str]
    """Identifiers of the first of them."""


class StorageState(Body):
    """What all runs take up, the largest first."""

    runs: Sequence[RunSpace]
    num_runs: int
    folder_bytes: int
    """Of all folders that were measured."""
    record_bytes: int
    """Of all runs' records, as measured."""
    database_bytes: int
    """The whole database on disk, with free space inside it."""
    artifact_bytes: int
    artifact_quota_bytes: int
    deletions: Sequence[PendingDeletion]
    retention: Sequence[RetentionRule]


class CompactReport(Body):
    """The database before and after free space inside it was given back."""

    before_bytes: int
    after_bytes: int


class DeletionRequest(Body):
    """Runs that somebody means to delete."""

    run_ids: Sequence[Text] = Field(min_length=1, max_length=MAX_BULK, examples=[["kzx3f0a9qe"]])


class DeletionItem(Body):
    """What deleting a run takes away for good."""

    run_id: str
    name: str
    refusal: str | None
    """Why it cannot be deleted now."""
    num_steps: int
    num_samples: int
    num_checkpoints: int
    num_artifacts: int
    num_bytes: int
    """As measured; the folder included."""
    children: Sequence[str]
    """Identifiers of runs that were cloned or forked from it: they stay, and lose the link to it."""
    waiting_forks: Sequence[str]
    """Forks that still need its checkpoint: its folder stays until they have begun."""


class DeletionPreview(Body):
    """What deleting would take away; nothing has happened yet."""

    items: Sequence[DeletionItem]
    num_bytes: int
    """Of all that can be deleted."""
