"""What runs take up, what deleting takes away, and what the server knows of its deployment."""

from __future__ import annotations

from bapo.api.service import Diagnosis
from bapo.api.storage import CompactReport, DeletionPreview, DeletionRequest, StorageState
from bapo.client.call import route


class StorageCalls:
    """What runs take up, what deleting takes away, and what the server knows of its deployment."""

    @route("GET /storage")
    def storage(self, limit: int | None = None) -> StorageState:
        """What all runs take up, what goes by itself, and what waits to be deleted."""

    @route("DELETE /storage/deletions/{deletion_id}")
    def give_up_deletion(self, deletion_id: int) -> None:
        """Forget a deletion that no worker will ever carry out: its machine is gone."""

    @route("POST /storage/compact")
    def compact_database(self) -> CompactReport:
        """Give free space inside the database back to the disk; writing waits meanwhile."""

    @route("POST /runs/deletion")
    def preview_deletion(self, body: DeletionRequest) -> DeletionPreview:
        """What deleting these runs would take away; nothing happens."""

    @route("GET /diagnosis")
    def diagnosis(self) -> Diagnosis:
        """What the server knows of its own deployment; for administrators."""
