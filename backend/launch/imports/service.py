"""Imports a run folder as a run with one attempt that no worker holds."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.files.resources.repository import note_use
from backend.fleet.dispatch.lost_attempts import LOST
from backend.identity.audit.repository import add_audit
from backend.identity.projects import choice
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.events import announce_status
from backend.kit.principal import Principal
from backend.models import Attempt, Run
from backend.records.repository import last_event
from backend.runs import lifecycle
from backend.runs import repository as runs
from backend.runs.access import lock_own, require_out_of_trash
from backend.settings.environment import Settings
from backend.workers.repository import extend_lease, next_fencing_token
from bapo.api.imports import ImportCreate, ImportInfo
from bapo.api.runs import RunStatus
from bapo.config import parse_config
from bapo.config.method import is_trainable
from bapo.config.paths import named_paths
from bapo.config.resolve import config_digest

_ENDINGS = {"finished": RunStatus.SUCCEEDED, "failed": RunStatus.FAILED, "stop": RunStatus.CANCELLED}


def begin(session: Session, body: ImportCreate, caller: Principal, settings: Settings) -> ImportInfo:
    """Make a run for a folder, or find the one that it was imported into. Raises ConfigError for a bad config."""
    project_id = choice.for_new(session, caller, body.project).id
    known = runs.with_import_source(session, project_id, body.source)
    if known is not None:
        require_out_of_trash(known, "source", body.source)
    run = _create(session, body, caller, project_id) if known is None else lock_own(session, known.id, caller)
    if known is not None:
        _take_config(run, body)
    # A folder that was trained further has more attempts by now.
    if body.attempts > run.attempt:
        earlier = runs.attempt(session, run)
        if earlier is not None and earlier.state != "ended":
            lifecycle.end_attempt(session, earlier, "imported", None)
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
    if body.live:
        _open(session, run, attempt, settings)
    elif attempt.outcome == LOST:
        # The sender of the rest is not the trainer.
        attempt.outcome = "imported"
    return ImportInfo(
        run_id=run.id,
        fencing_token=attempt.fencing_token,
        is_new=known is None,
        lease_seconds=settings.lease_seconds,
    )


def _take_config(run: Run, body: ImportCreate) -> None:
    """Store the config if it has the run's sizes; an observer knows them from the first step on only."""
    if not is_trainable(run.method) and "rollout" not in run.config:
        run.config = run.explicit = parse_config(body.config).model_dump(mode="json")
        run.config_digest = config_digest(run.config)


def _open(session: Session, run: Run, attempt: Attempt, settings: Settings) -> None:
    """Mark a run as trained elsewhere; its sender holds the lease. Raises Problem 422 for a run that BAPO trains."""
    if is_trainable(run.method):
        remedy = "only runs of other trainers are shown live this way: import the folder without it"
        raise Problem(422, "invalid_request", remedy, field="live", value=True)
    attempt.state = "running"
    attempt.outcome = attempt.reason = attempt.ended_at = None
    session.flush()
    extend_lease(session, attempt, settings.lease_seconds)
    run.started_at = run.started_at or clock(session)
    if run.status is not RunStatus.RUNNING:
        run.status, run.status_reason, run.finished_at = RunStatus.RUNNING, None, None
        announce_status(session, run)


def note_life(session: Session, run: Run, attempt: Attempt, settings: Settings) -> None:
    """Renew the lease of a live run; a run that counted as lost is running again."""
    if attempt.state == "running" or attempt.outcome == LOST:
        _open(session, run, attempt, settings)


def _create(session: Session, body: ImportCreate, caller: Principal, project_id: str) -> Run:
    config = parse_config(body.config)
    run = runs.new_run(session, body.name, config, caller, project_id=project_id, group=body.group)
    run.import_source = body.source
    run.explicit = run.config
    if not config.method.is_trainable:
        # Its first step determines its length, and the server never retries it.
        run.num_steps = run.max_retries = 0
    run.tags = list(body.tags)
    run.notes = body.notes
    # No worker may take it, and it has no end yet.
    run.status = RunStatus.CANCELLED
    run.status_reason = "being imported"
    session.add(run)
    session.flush()
    note_use(session, run.id, {field: path for field, (_, path) in named_paths(config).items()})
    add_audit(session, run.id, caller.name, "imported", {"source": body.source})
    announce_status(session, run)
    return run


def lock_import(session: Session, run_id: str, caller: Principal) -> Run:
    """Return an imported run of this caller. Raises Problem 409 for any other run."""
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
    attempt = runs.attempt(session, run)
    assert attempt is not None, "made when the import began"
    if event is None and attempt.state != "ended":
        # Sent by hand while its trainer is running.
        return
    run.status = RunStatus.CANCELLED if event is None else _ENDINGS[event["event"]]
    if run.status is RunStatus.SUCCEEDED:
        run.status_reason = None
    elif run.status is RunStatus.FAILED and event is not None:
        run.status_reason = event["message"]
    else:
        run.status_reason = f"imported: its journal ends after step {run.step}"
    run.started_at, run.finished_at = runs.recorded_times(session, run)
    if attempt.state != "ended":
        lifecycle.end_attempt(session, attempt, "imported", None)
    if is_trainable(run.method):
        # All attempts as one: their own times are unknown. Compute of other trainers is not ours to count.
        attempt.claimed_at = run.started_at
    attempt.ended_at = run.finished_at
    announce_status(session, run)
