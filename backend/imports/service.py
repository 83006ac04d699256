"""Imports a run folder as a run with one attempt that no worker holds."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.audit.repository import add_audit
from backend.kit.errors import Problem
from backend.kit.events import announce_status
from backend.kit.principal import Principal
from backend.models import Attempt, Run
from backend.projects import choice
from backend.records.repository import last_event
from backend.resources.references import uses
from backend.resources.repository import note_use
from backend.runs import repository as runs
from backend.runs.access import lock_own
from backend.submissions.submission import new_run
from backend.workers.repository import next_fencing_token
from bapo.api.imports import ImportCreate, ImportInfo
from bapo.api.runs import RunStatus
from bapo.config import resolve

_ENDINGS = {"finished": RunStatus.SUCCEEDED, "failed": RunStatus.FAILED, "stop": RunStatus.CANCELLED}


def begin(session: Session, body: ImportCreate, caller: Principal) -> ImportInfo:
    """Make a run for a folder, or find the one that it was imported into. Raises ConfigError for a bad config."""
    project_id = choice.for_new(session, caller, body.project).id
    known = runs.with_import_source(session, project_id, body.source)
    run = _create(session, body, caller, project_id) if known is None else lock_own(session, known.id, caller)
    # A folder that went on training has further attempts by now.
    if body.attempts > run.attempt:
        run.attempt = body.attempts
        session.add(
            Attempt(
                run_id=run.id,
                number=body.attempts,
                state="ended",
                outcome="imported",
                fencing_token=next_fencing_token(session),
            )
        )
        session.flush()
    attempt = runs.attempt(session, run)
    assert attempt is not None, "made above, now or by an earlier import"
    assert attempt.fencing_token is not None, "made above, now or by an earlier import"
    return ImportInfo(run_id=run.id, fencing_token=attempt.fencing_token, is_new=known is None)


def _create(session: Session, body: ImportCreate, caller: Principal, project_id: str) -> Run:
    config = resolve(body.config).config
    run = new_run(session, body.name, config, caller, project_id=project_id, group=body.group)
    run.import_source = body.source
    run.explicit = run.config
    run.tags = list(body.tags)
    run.notes = body.notes
    # No worker may take it, and it has no end yet.
    run.status = RunStatus.CANCELLED
    run.status_reason = "being imported"
    session.add(run)
    session.flush()
    note_use(session, run.id, uses(config))
    add_audit(session, run.id, caller.name, "imported", {"source": body.source})
    announce_status(session, run)
    return run


def lock_import(session: Session, run_id: str, caller: Principal) -> Run:
    """An imported run of this caller. Raises Problem 409 for any other run."""
    run = lock_own(session, run_id, caller)
    if run.import_source is None:
        remedy = "this run was trained here: only imported runs accept uploads"
        raise Problem(409, "not_an_import", remedy, field="run_id", value=run_id)
    return run


def finish(session: Session, run: Run) -> None:
    """Give the run the state that its newest attempt's journal ends in.

    Not a move in a run's life: it has had its life elsewhere.
    """
    event = last_event(session, run.id, run.attempt, tuple(_ENDINGS))
    run.status = RunStatus.CANCELLED if event is None else _ENDINGS[event["event"]]
    if run.status is RunStatus.SUCCEEDED:
        run.status_reason = None
    elif run.status is RunStatus.FAILED and event is not None:
        run.status_reason = event["message"]
    else:
        run.status_reason = f"imported: its journal ends after step {run.step}"
    run.started_at, run.finished_at = runs.recorded_times(session, run)
    attempt = runs.attempt(session, run)
    assert attempt is not None, "made when the import began"
    # All attempts as one: their own times are not told apart.
    attempt.claimed_at, attempt.ended_at = run.started_at, run.finished_at
    announce_status(session, run)
