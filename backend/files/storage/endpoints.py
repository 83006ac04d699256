"""Routes for storage use and deletion."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from backend.files.storage import deletion, service
from backend.identity.audit.repository import add_audit
from backend.kit import project_scope
from backend.kit.context import ContextOf, DbSession, SettingsOf, new_router
from backend.kit.permissions import Administrator, Writer
from bapo.api.storage import CompactReport, DeletionPreview, DeletionRequest, StorageState

router = new_router("storage")


@router.get("/storage", summary="Get storage use")
def get_storage(
    _: Administrator, session: DbSession, settings: SettingsOf, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> StorageState:
    """Return the largest runs, those in the trash included, the retention rules with what they would delete now, and
    folders waiting to be deleted.
    """
    project_scope.show_trash(session)
    return service.state(session, settings, limit)


@router.delete("/storage/deletions/{deletion_id}", status_code=204, summary="Give up a deletion")
def give_up_deletion(caller: Administrator, session: DbSession, deletion_id: int) -> None:
    """Stop waiting for a folder on a machine that is gone for good."""
    deletion.give_up(session, deletion_id, caller.name)


@router.post("/storage/compact", summary="Compact the database")
def compact_database(caller: Administrator, session: DbSession, context: ContextOf) -> CompactReport:
    """Rewrite the tables of records to return free space to the disk. Writes to a table wait while it is rewritten."""
    report = service.compact(context.database.engine)
    add_audit(session, None, caller.name, "database_compacted", report.model_dump())
    return report


@router.post("/runs/deletion", summary="Preview a deletion")
def preview_deletion(
    caller: Writer, session: DbSession, settings: SettingsOf, body: DeletionRequest
) -> DeletionPreview:
    """Return steps, samples, checkpoints, downloads and bytes that would be removed, and the runs that depend on them;
    of runs in the trash too.
    """
    project_scope.show_trash(session)
    return deletion.preview(session, body.run_ids, caller, settings.trash_days)
