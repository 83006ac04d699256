"""Routes for `bapo import`."""

from __future__ import annotations

from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Writer
from backend.launch.imports import service
from backend.prices.service import prices_in_force
from backend.records.ingest import accept
from backend.runs import presentation
from backend.runs import repository as runs
from backend.runs.access import current_attempt
from bapo.api.imports import ImportCreate, ImportInfo
from bapo.api.runs import RunDetail
from bapo.api.workers import BatchAccepted, RecordBatch

router = new_router("imports")


@router.post("/imports", status_code=201, summary="Begin an import")
def begin_import(caller: Writer, session: DbSession, settings: SettingsOf, body: ImportCreate) -> ImportInfo:
    """Begin to import a run folder. The same source again continues its import."""
    return service.begin(session, body, caller, settings)


@router.post("/imports/{run_id}/records", summary="Import records")
def import_records(
    caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: RecordBatch
) -> BatchAccepted:
    """Import lines of a folder's file by byte offset, as workers upload them. A live run counts as heard of."""
    run = service.lock_import(session, run_id, caller)
    attempt = current_attempt(session, run, body.fencing_token)
    service.note_life(session, run, attempt, settings)
    return accept(session, run, attempt, body)


@router.post("/imports/{run_id}/finish", summary="Finish an import")
def finish_import(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """Finish an import once all its lines are sent. The run takes the state in which its journal ends."""
    service.finish(session, service.lock_import(session, run_id, caller))
    session.flush()
    row = runs.row(session, run_id, caller.id)
    prices = prices_in_force(session, settings)
    return presentation.detail(row, presentation.Surroundings(), caller, settings, prices)
