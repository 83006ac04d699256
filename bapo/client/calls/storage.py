"""What runs take up, and what deleting takes away."""

from __future__ import annotations

from bapo.api.storage import CompactReport, DeletionPreview, DeletionRequest, StorageState
from bapo.client.call import Call, Endpoint, get, nothing, post


class StorageCalls:
    """Space; for administrators but for the preview of a deletion."""

    @Endpoint
    def storage(self, limit: int | None = None) -> Call[StorageState]:
        """What all runs take up, what goes by itself, and what waits to be deleted."""
        return get("/storage", StorageState, limit=limit)

    @Endpoint
    def give_up_deletion(self, deletion_id: int) -> Call[None]:
        """Forget a deletion that no worker will ever carry out: its machine is gone."""
        return Call("DELETE", f"/storage/deletions/{deletion_id}", nothing)

    @Endpoint
    def compact_database(self) -> Call[CompactReport]:
        """Give free space inside the database back to the disk; writing waits meanwhile."""
        return post("/storage/compact", CompactReport)

    @Endpoint
    def preview_deletion(self, body: DeletionRequest) -> Call[DeletionPreview]:
        """What deleting these runs would take away; nothing happens."""
        return post("/runs/deletion", DeletionPreview, body)
