"""What takes up space, and what deleting takes away."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from backend.audit.repository import add_audit
from backend.kit.context import ContextOf, DbSession, SettingsOf, new_router
from backend.kit.permissions import Administrator, Writer
from backend.storage import deletion, service
from bapo.api.storage import CompactReport, DeletionPreview, DeletionRequest, StorageState

router = new_router("storage")


@router.get("/storage", summary="What all runs take up")
def get_storage(
    _: Administrator, session: DbSession, settings: SettingsOf, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> StorageState:
    """The largest runs, what goes by itself and what would go now, and folders that wait to be deleted."""
    return service.state(session, settings, limit)


@router.delete("/storage/deletions/{deletion_id}", status_code=204, summary="Give a deletion up")
def give_up_deletion(caller: Administrator, session: DbSession, deletion_id: int) -> None:
    """For a folder on a machine that is gone for good."""
    deletion.give_up(session, deletion_id, caller.name)


@router.post("/storage/compact", summary="Give free space inside the database back to the disk")
def compact_database(caller: Administrator, session: DbSession, context: ContextOf) -> CompactReport:
    """Writes the tables of records anew; who writes to one waits while it is its turn."""
    report = service.compact(context.database.engine)
    add_audit(session, None, caller.name, "database_compacted", report.model_dump())
    return report


@router.post("/runs/deletion", summary="What deleting runs would take away")
def preview_deletion(caller: Writer, session: DbSession, body: DeletionRequest) -> DeletionPreview:
    """Steps, samples, checkpoints, downloads and bytes, and which other runs depend on them; nothing happens."""
    return deletion.preview(session, body.run_ids, caller)
