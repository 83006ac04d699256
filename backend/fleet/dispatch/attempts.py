"""Handles what workers report: claims, heartbeats, records, outcomes."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.files.uploads import contents
from backend.fleet.dispatch import lost_attempts
from backend.fleet.maintenance_jobs import service as maintenance_jobs
from backend.kit.database import clock
from backend.kit.errors import Problem, not_found
from backend.kit.principal import Principal
from backend.models import Attempt, Control, Run, Worker
from backend.records import ingest
from backend.records.repository import last_event
from backend.runs import lifecycle
from backend.runs import repository as runs
from backend.runs.access import current_attempt
from backend.runs.checkpoints.service import fork_source
from backend.settings.environment import Settings
from backend.workers import repository
from backend.workers.administration import worker_of
from bapo.api.runs import RunStatus
from bapo.api.workers import (
    AttemptOutcome,
    BatchAccepted,
    Claim,
    HeartbeatAnswer,
    PendingControl,
    RecordBatch,
    WorkerHeartbeat,
    WorkerRegistration,
)


def register(session: Session, body: WorkerRegistration, caller: Principal) -> Worker:
    """Register a worker that has started. Raises Problem 409 if its name belongs to another token."""
    worker = repository.register(session, caller.id, body)
    if worker is None:
        remedy = "a worker with another token has this name: choose another name"
        raise Problem(409, "name_taken", remedy, field="name", value=body.name)
    session.flush()
    repository.withdraw_where_gpus_are_gone(session, worker)
    return worker


def claim(session: Session, run_id: str, worker_id: str, caller: Principal, settings: Settings) -> Claim:
    """Hand a run to the worker that it was promised to, once. Raises Problem 409 otherwise."""
    worker = worker_of(session, worker_id, caller)
    run = runs.lock(session, run_id)
    attempt = runs.assigned_attempt(session, run)
    if attempt is None or attempt.worker_id != worker.id or run.status is not RunStatus.QUEUED:
        remedy = "this run is already claimed, or was assigned to another worker: skip it"
        raise Problem(409, "not_to_be_claimed", remedy, field="run_id", value=run_id)
    attempt.state = "claimed"
    attempt.fencing_token = repository.next_fencing_token(session)
    attempt.first_step = run.step
    attempt.claimed_at = clock(session)
    attempt.gpu_name = _gpu_name(worker, attempt)
    run.attempt = attempt.number
    run.host = worker.host
    lifecycle.move(session, run, RunStatus.STARTING, author=lifecycle.SYSTEM, detail={"worker": worker.name})
    session.flush()
    repository.extend_lease(session, attempt, settings.lease_seconds)
    return Claim(
        run_id=run.id,
        attempt=attempt.number,
        fencing_token=attempt.fencing_token,
        config=run.config,
        config_digest=run.config_digest,
        run_dir=str(settings.runs_dir / run.id),
        fork=fork_source(run, settings),
        settled=runs.settled_controls(session, run.id),
        # Of a cluster, Ray says what each of its processes sees; a machine without GPUs has nothing to hide.
        gpus=attempt.gpus if worker.gpus and not run.num_cluster_gpus else None,
        resource_roots=[str(root) for root in settings.permitted_folders.roots],
        contents=contents.of_run(session, run),
    )


def _gpu_name(worker: Worker, attempt: Attempt) -> str | None:
    """Return the kind of the GPUs that the attempt trains on; for a cluster, the kind of the worker's own GPUs."""
    names = {gpu["index"]: gpu["name"] for gpu in worker.gpus}
    own = [names[index] for index in attempt.gpus if index in names] or list(names.values())
    return own[0] if attempt.num_gpus and own else None


def heartbeat(session: Session, body: WorkerHeartbeat, caller: Principal, settings: Settings) -> HeartbeatAnswer:
    """Extend the leases of what the worker holds; say what it no longer holds, and what people ask of the rest."""
    worker = worker_of(session, body.worker_id, caller)
    repository.touch(session, worker, body.system)
    held, revoked = [], []
    for beat in body.attempts:
        attempt = repository.with_token(session, beat.run_id, beat.fencing_token)
        if attempt is not None and attempt.worker_id == worker.id and _is_held(session, attempt):
            repository.extend_lease(
                session,
                attempt,
                settings.lease_seconds,
                start_seconds=beat.start_seconds,
                stop_seconds=beat.stop_seconds,
            )
            held.append(beat.run_id)
        else:
            revoked.append(beat.run_id)
    controls = [
        PendingControl(
            run_id=control.run_id,
            id=control.id,
            author=control.author,
            at_step=control.at_step,
            set=control.changes,
            stop=control.kind != "change",
            when=control.moment or "step",
        )
        for control in runs.pending_controls(session, held)
    ]
    controls += [_withdrawal(control) for control in runs.pending_controls(session, held) if control.withdrawn_by]
    has_chores = maintenance_jobs.has_jobs(session, worker, settings)
    hands_on = worker.draining_at is not None and worker.drain_hands_on
    hand_back = held if hands_on else ()
    return HeartbeatAnswer(controls=controls, revoked=revoked, has_chores=has_chores, hand_back=hand_back)


def _withdrawal(control: Control) -> PendingControl:
    assert control.withdrawn_by is not None, "asked for by the caller"
    return PendingControl(
        run_id=control.run_id,
        id=f"{control.id}-withdrawn",
        author=control.withdrawn_by,
        at_step=None,
        set={},
        stop=False,
        withdraws=control.id,
    )


def _is_held(session: Session, attempt: Attempt) -> bool:
    """Return whether the attempt is still its worker's; a lost one is taken back if no other has claimed its run."""
    if attempt.state != "ended":
        return True
    return lost_attempts.take_back(session, runs.lock(session, attempt.run_id), attempt)


def store_records(session: Session, run_id: str, batch: RecordBatch, caller: Principal) -> BatchAccepted:
    """Store lines of the run's files. Raises Problem 409 with a stale token, 404 for another token's run."""
    run = runs.lock(session, run_id)
    attempt = current_attempt(session, run, batch.fencing_token)
    _check_owner(session, attempt, caller)
    return ingest.accept(session, run, attempt, batch)


def _check_owner(session: Session, attempt: Attempt, caller: Principal) -> None:
    if attempt.worker_id is None or not repository.speaks_for(session, caller.id, attempt.worker_id):
        raise not_found("run", attempt.run_id)


def note_outcome(session: Session, run_id: str, outcome: AttemptOutcome, caller: Principal, settings: Settings) -> None:
    """Record that the trainer is up or has ended. Repeated calls change nothing."""
    run = runs.lock(session, run_id)
    attempt = current_attempt(session, run, outcome.fencing_token)
    _check_owner(session, attempt, caller)
    if attempt.state == "ended" and not lost_attempts.take_back(session, run, attempt):
        return
    if outcome.status == "running":
        attempt.state = "running"
        if run.status is RunStatus.STARTING:
            lifecycle.move(session, run, RunStatus.RUNNING, author=lifecycle.SYSTEM)
        return
    reason = None if outcome.reason is None else outcome.reason.replace("\x00", "\ufffd")[:10_000]
    if outcome.status == "lost":
        reason = reason or "the trainer is gone"
        lost_attempts.lose(session, run, attempt, reason, settings, cannot_write=outcome.cannot_write)
        return
    lifecycle.end_attempt(session, attempt, outcome.status, reason)
    if outcome.status == "stopped":
        _note_stopped(session, run, attempt)
        return
    status = RunStatus.SUCCEEDED if outcome.status == "succeeded" else RunStatus.FAILED
    lifecycle.close_controls(session, run, "the run ended first")
    lifecycle.move(session, run, status, author=lifecycle.SYSTEM, reason=reason)


def _note_stopped(session: Session, run: Run, attempt: Attempt) -> None:
    """Record that the trainer stopped at a step boundary, on a user's request or its machine's."""
    # Read before it is settled: a stop that came through the control file itself is known by its event only.
    event = last_event(session, run.id, attempt.number, ("stop",)) or {"data": {}}
    author = event["data"].get("author")
    lifecycle.settle_stops(session, run)
    if run.status is RunStatus.STOPPING:
        lifecycle.close_controls(session, run, "the run was stopped first")
        lifecycle.move(session, run, RunStatus.CANCELLED, author=lifecycle.SYSTEM)
    elif run.status is RunStatus.PAUSING:
        lifecycle.move(session, run, RunStatus.PAUSED, author=lifecycle.SYSTEM)
    elif author is not None and run.status is RunStatus.RUNNING:
        # A line in a file stopped the attempt, and its author is not verified: to pause until a user decides loses less
        # than to cancel.
        reason = f"stopped through its control file by {author}: resume it, or stop it"
        lifecycle.move(session, run, RunStatus.PAUSED, author=lifecycle.SYSTEM, reason=reason)
    else:
        reason = "its machine stopped it after a checkpoint"
        lifecycle.move(session, run, RunStatus.QUEUED, author=lifecycle.SYSTEM, reason=reason)
