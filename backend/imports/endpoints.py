"""`bapo import`."""

from __future__ import annotations

from backend.imports import service
from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Writer
from backend.records.ingest import accept
from backend.runs import presentation
from backend.runs import repository as runs
from backend.runs.access import current_attempt
from bapo.api.imports import ImportCreate, ImportInfo
from bapo.api.runs import RunDetail
from bapo.api.workers import BatchAccepted, RecordBatch

router = new_router("imports")


@router.post("/imports", status_code=201, summary="Begin to import a folder")
def begin_import(caller: Writer, session: DbSession, body: ImportCreate) -> ImportInfo:
    """The same source again continues the import that was begun before."""
    return service.begin(session, body, caller)


@router.post("/imports/{run_id}/records", summary="Lines of an imported folder's file")
def import_records(caller: Writer, session: DbSession, run_id: str, body: RecordBatch) -> BatchAccepted:
    """By byte offset, as a worker uploads them."""
    run = service.lock_import(session, run_id, caller)
    return accept(session, run, current_attempt(session, run, body.fencing_token), body)


@router.post("/imports/{run_id}/finish", summary="All lines of a folder are there")
def finish_import(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """The run takes the state that its journal ends in."""
    service.finish(session, service.lock_import(session, run_id, caller))
    session.flush()
    row = runs.row(session, run_id, caller.id)
    return presentation.detail(row, presentation.Surroundings(), caller, settings)
