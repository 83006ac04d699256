"""Disk space of runs, deletion, and the diagnosis of the deployment."""

from __future__ import annotations

from bapo.api.service import Diagnosis
from bapo.api.storage import CompactReport, DeletionPreview, DeletionRequest, StorageState
from bapo.client.call import route


class StorageCalls:
    """Disk space of runs, deletion, and the diagnosis of the deployment."""

    @route("GET /storage")
    def storage(self, limit: int | None = None) -> StorageState:
        """Return the disk space of all runs, retention, and pending deletions."""

    @route("DELETE /storage/deletions/{deletion_id}")
    def give_up_deletion(self, deletion_id: int) -> None:
        """Forget a deletion that no worker will ever carry out: its machine is gone."""

    @route("POST /storage/compact")
    def compact_database(self) -> CompactReport:
        """Give free space inside the database back to the disk; writing waits meanwhile."""

    @route("POST /runs/deletion")
    def preview_deletion(self, body: DeletionRequest) -> DeletionPreview:
        """Preview the deletion of these runs; nothing is deleted."""

    @route("GET /diagnosis")
    def diagnosis(self) -> Diagnosis:
        """Return the server's diagnosis of its deployment; for administrators."""
