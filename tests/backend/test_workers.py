"""What workers say and what follows from it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from backend.kit.database import Database
from backend.models import Attempt, Run, Worker
from backend.workers import repository
from bapo.api.runs import ParameterChange, RunCreate, RunDetail, RunStatus
from bapo.api.workers import (
    AttemptHeartbeat,
    AttemptOutcome,
    ClaimRequest,
    GpuInfo,
    WorkerHeartbeat,
    WorkerRegistration,
)
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import event, step
from tests.support.lost_workers import expire
from tests.support.services import BackendServer, wait_until


def refused(call: Any, *arguments: Any) -> ApiError:
    with pytest.raises(ApiError) as refusal:
        call(*arguments)
    return refusal.value


# ---------------------------------------------------------------- registration


def test_a_worker_is_known_by_its_name(backend_server: BackendServer, worker: FakeWorker, admin: Client) -> None:
    body = worker.body.model_copy(update={"slots": 101, "gpus": [GpuInfo(index=0, name="H200")]})
    again = worker.client.register_worker(body)
    assert (again.worker_id, again.queue) == (worker.id, worker.welcome.queue)
    (info,) = admin.workers().items
    assert (info.name, info.slots, info.gpus, info.online) == ("w1", 101, [GpuInfo(index=0, name="H200")], True)
    assert again.runs_dir == str(backend_server.settings.runs_dir)
    assert again.broker_url == backend_server.settings.broker_url
    worker.client.register_worker(worker.body)


def test_an_unknown_worker_is_told_so(worker: FakeWorker) -> None:
    # The worker registers again then.
    error = refused(worker.client.heartbeat, WorkerHeartbeat(worker_id="nobody", attempts=[]))
    assert error.status == 404


@pytest.mark.parametrize(("field", "value"), [("slots", 0), ("name", ""), ("gpus", "x")])
def test_a_bad_registration_is_refused(worker: FakeWorker, field: str, value: Any) -> None:
    body = WorkerRegistration.model_construct(**{**worker.body.model_dump(), field: value})
    assert refused(worker.client.register_worker, body).body.field == field


# ---------------------------------------------------------------- claim


def test_a_run_is_claimed_once(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.claim(run.id)
    assert claim.attempt == 1
    assert claim.config == admin.run(run.id).config
    assert claim.run_dir.endswith(run.id)
    error = refused(worker.client.claim, run.id, ClaimRequest(worker_id=worker.id))
    assert (error.status, error.body.code) == (409, "not_to_be_claimed")
    now = admin.run(run.id)
    assert (now.status, now.attempt, now.worker) == (RunStatus.STARTING, 1, "w1")
    assert now.started_at is not None


def test_only_the_promised_worker_claims(backend_server: BackendServer, worker: FakeWorker, run: RunDetail) -> None:
    stranger = FakeWorker(backend_server, "stranger", host="elsewhere")
    wait_until(lambda: run.id in worker_runs(worker, backend_server) or run.id in worker_runs(stranger, backend_server))
    holder, other = (worker, stranger) if run.id in worker_runs(worker, backend_server) else (stranger, worker)
    assert other.try_claim(run.id) is None
    holder.claim(run.id)
    # Full up, it is promised nothing more.
    stranger.client.register_worker(stranger.body.model_copy(update={"slots": 1}))
    stranger.close()


def worker_runs(worker: FakeWorker, server: BackendServer) -> list[str]:
    with server.client() as client:
        (info,) = [each for each in client.workers().items if each.id == worker.id]
    return list(info.run_ids)


def test_tokens_grow(worker: FakeWorker, admin: Client) -> None:
    runs = [admin.create_run(RunCreate(name="x", recipe="countdown-demo")) for _ in range(2)]
    first, second = (worker.claim(run.id).fencing_token for run in runs)
    assert second > first


def test_a_stopped_run_is_not_to_be_claimed(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    wait_until(lambda: any(entry.action == "assigned" for entry in admin.history(run.id).audit))
    admin.stop(run.id)
    assert worker.try_claim(run.id) is None


# ---------------------------------------------------------------- outcomes


@pytest.mark.parametrize(
    ("status", "after"), [("succeeded", RunStatus.SUCCEEDED), ("failed", RunStatus.FAILED), ("lost", RunStatus.QUEUED)]
)
def test_a_trainer_ends(worker: FakeWorker, admin: Client, run: RunDetail, status: str, after: RunStatus) -> None:
    claim = worker.begin(run)
    assert admin.run(run.id).status is RunStatus.RUNNING
    worker.report(claim, status, "because")
    now = admin.run(run.id)
    assert now.status is after
    assert (now.finished_at is None) == (after is RunStatus.QUEUED)
    if status == "failed":
        assert now.status_reason == "because"


def test_an_outcome_told_twice_counts_once(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    for _ in range(2):
        worker.report(claim, "succeeded")
    moves = [entry.detail["to"] for entry in admin.history(run.id).audit if entry.action == "status"]
    assert moves == ["queued", "starting", "running", "succeeded"]
    # A late `running` changes nothing either.
    worker.report(claim, "running")
    assert admin.run(run.id).status is RunStatus.SUCCEEDED


def test_a_short_run_may_end_before_it_is_announced(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.claim(run.id)
    worker.report(claim, "succeeded")
    assert admin.run(run.id).status is RunStatus.SUCCEEDED


def test_a_reason_may_hold_anything(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.report(claim, "failed", "a\x00b" + "x" * 20_000)
    reason = admin.run(run.id).status_reason
    assert reason is not None
    assert reason.startswith("a\ufffdb")
    assert len(reason) == 10_000


# ---------------------------------------------------------------- stop and pause


@pytest.mark.parametrize(
    ("action", "during", "after"),
    [("stop", RunStatus.STOPPING, RunStatus.CANCELLED), ("pause", RunStatus.PAUSING, RunStatus.PAUSED)],
)
def test_a_request_reaches_the_trainer_and_is_answered(
    worker: FakeWorker, admin: Client, run: RunDetail, action: str, during: RunStatus, after: RunStatus
) -> None:
    claim = worker.begin(run)
    assert worker.heartbeat(claim).controls == []
    ask = getattr(admin, action)
    assert ask(run.id).status is during
    # Asked again, nothing more happens.
    assert ask(run.id).status is during
    (pending,) = worker.heartbeat(claim).controls
    assert (pending.run_id, pending.stop, pending.set, pending.author) == (run.id, True, {}, "admin")
    # Sent until it is answered; the worker appends it once.
    assert worker.heartbeat(claim).controls == [pending]
    worker.upload(claim, [step(1), event("stop", 1, id=pending.id, author="admin")])
    assert worker.heartbeat(claim).controls == []
    worker.report(claim, "stopped")
    assert admin.run(run.id).status is after
    (control,) = admin.history(run.id).controls
    assert (control.kind, control.state, control.applied_step) == (action, "applied", 2)


def test_a_paused_run_goes_on_as_a_new_attempt(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    first = worker.begin(run)
    admin.pause(run.id)
    worker.report(first, "stopped")
    assert admin.run(run.id).allowed_actions == ["resume", "stop", "change", "clone"]
    assert admin.resume(run.id).status is RunStatus.QUEUED
    second = worker.begin(run)
    assert (second.attempt, second.run_dir) == (2, first.run_dir)
    assert second.fencing_token > first.fencing_token


def test_a_paused_run_is_cancelled_at_once(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    admin.pause(run.id)
    worker.report(claim, "stopped")
    assert admin.stop(run.id).status is RunStatus.CANCELLED


def test_the_last_step_may_be_done_before_a_stop_is_read(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    admin.stop(run.id)
    worker.report(claim, "succeeded")
    assert admin.run(run.id).status is RunStatus.SUCCEEDED
    (control,) = admin.history(run.id).controls
    assert (control.state, control.reason) == ("refused", "the run ended first")


def test_a_run_that_its_machine_stopped_is_queued_again(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [step(1), event("stop", 1)])
    worker.report(claim, "stopped")
    assert admin.run(run.id).status is RunStatus.QUEUED
    assert worker.begin(run).attempt == 2


def test_a_stop_through_the_control_file_itself_pauses(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [step(1), event("stop", 1, id="by-hand", author="anna")])
    worker.report(claim, "stopped")
    now = admin.run(run.id)
    assert (now.status, now.status_reason) == (
        RunStatus.PAUSED,
        "stopped through its control file by anna: resume it, or stop it",
    )
    (control,) = admin.history(run.id).controls
    assert (control.id, control.author, control.state) == ("by-hand", "anna", "applied")


# ---------------------------------------------------------------- parameter changes


def test_a_change_is_sent_and_its_answer_noted(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    asked = admin.change_parameters(run.id, ParameterChange(set={"method.c1": 0.25}, at_step=5))
    (pending,) = worker.heartbeat(claim).controls
    assert (pending.id, pending.set, pending.at_step, pending.stop) == (asked.id, {"method.c1": 0.25}, 5, False)
    worker.upload(claim, [event("parameter_change", 4, id=asked.id, author="admin", applied_step=5)])
    (control,) = admin.history(run.id).controls
    assert (control.state, control.applied_step) == ("applied", 5)


def test_a_refused_change_carries_its_reason(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    asked = admin.change_parameters(run.id, ParameterChange(set={"method.c1": 0.25}))
    worker.upload(claim, [event("parameter_refused", 4, id=asked.id)])
    (control,) = admin.history(run.id).controls
    assert (control.state, control.reason) == ("refused", "parameter_refused happened")


def test_a_change_without_an_answer_is_refused_at_the_end(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    admin.change_parameters(run.id, ParameterChange(set={"method.c1": 0.25}))
    worker.report(claim, "succeeded")
    assert admin.history(run.id).controls[0].state == "refused"


# ---------------------------------------------------------------- fencing, leases, losses


def test_an_expired_lease_queues_the_next_attempt(
    worker: FakeWorker, admin: Client, run: RunDetail, database: Database
) -> None:
    first = worker.begin(run)
    expire(database, run.id)
    second = worker.begin(run)
    assert (second.attempt, second.fencing_token > first.fencing_token) == (2, True)
    moves = [entry.detail["to"] for entry in admin.history(run.id).audit if entry.action == "status"]
    assert moves == ["queued", "starting", "running", "lost", "queued", "starting", "running"]
    # The first one has no say any more.
    assert worker.heartbeat(first, second).revoked == [run.id]
    assert refused(worker.upload, first, [step(1)]).body.code == "stale_fencing_token"
    assert refused(worker.report, first, "succeeded").status == 409
    assert admin.run(run.id).status is RunStatus.RUNNING


def test_a_claim_whose_trainer_never_began_is_lost_with_its_lease(
    worker: FakeWorker, admin: Client, run: RunDetail, database: Database
) -> None:
    first = worker.claim(run.id)
    assert admin.run(run.id).status is RunStatus.STARTING
    expire(database, run.id)
    assert worker.claim(run.id).attempt == 2
    assert worker.heartbeat(first).revoked == [run.id]


def test_a_heartbeat_keeps_the_lease(worker: FakeWorker, run: RunDetail, database: Database) -> None:
    claim = worker.begin(run)
    with database.session() as session:
        before = session.get_one(Attempt, (run.id, 1)).lease_expires_at
    assert worker.heartbeat(claim).revoked == []
    with database.session() as session:
        after = session.get_one(Attempt, (run.id, 1)).lease_expires_at
    assert before is not None
    assert after is not None
    assert after > before


def test_a_late_heartbeat_gives_an_ended_attempt_no_lease(
    worker: FakeWorker, run: RunDetail, database: Database
) -> None:
    claim = worker.begin(run)
    with database.session() as late, late.begin():
        attempt = late.get_one(Attempt, (run.id, 1))
        # Between the heartbeat's look and its update, the outcome came in.
        worker.report(claim, "succeeded")
        repository.extend_lease(late, attempt, 30)
    with database.session() as session:
        assert session.get_one(Attempt, (run.id, 1)).lease_expires_at is None


@pytest.mark.parametrize("is_running", [False, True])
def test_leases_begin_anew_after_the_clock_was_set(
    worker: FakeWorker, run: RunDetail, database: Database, is_running: bool
) -> None:
    claim = worker.claim(run.id)
    if is_running:
        worker.report(claim, "running")
    with database.session() as session, session.begin():
        attempt = session.get_one(Attempt, (run.id, 1))
        now = session.scalars(select(func.now())).one()
        attempt.lease_expires_at = now + timedelta(hours=1)
        session.get_one(Worker, worker.id).last_seen_at = now + timedelta(hours=1)
        session.flush()
        repository.begin_all_leases_anew(session, 30)
        session.refresh(attempt)
        assert attempt.lease_expires_at == now + timedelta(seconds=30)
        seen = session.get_one(Worker, worker.id, populate_existing=True).last_seen_at
        assert seen == now


def test_a_pause_before_the_next_try_ends_when_the_clock_was_set(admin: Client, database: Database) -> None:
    run = admin.create_run(RunCreate(name="paused", recipe="countdown-demo", start=False))
    with database.session() as session, session.begin():
        waiting = session.get_one(Run, run.id)
        waiting.status = RunStatus.QUEUED
        waiting.not_before = session.scalars(select(func.now())).one() + timedelta(hours=1)
        session.flush()
        repository.end_all_pauses(session)
        session.refresh(waiting)
        assert waiting.not_before is None
        waiting.status = RunStatus.DRAFT


def test_an_outcome_after_a_silence_counts(
    worker: FakeWorker, admin: Client, run: RunDetail, database: Database
) -> None:
    claim = worker.begin(run)
    with database.session() as session, session.begin():
        # As after a silence that nobody else used.
        session.get_one(Attempt, (run.id, 1)).lease_expires_at = None
    worker.report(claim, "lost", "the trainer was ended by SIGKILL")
    worker.report(claim, "succeeded")
    assert admin.run(run.id).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize(("action", "after"), [("stop", RunStatus.CANCELLED), ("pause", RunStatus.PAUSED)])
def test_a_run_that_is_lost_while_it_should_stop_has_stopped(
    worker: FakeWorker, admin: Client, run: RunDetail, action: str, after: RunStatus
) -> None:
    claim = worker.begin(run)
    getattr(admin, action)(run.id)
    worker.report(claim, "lost")
    assert admin.run(run.id).status is after
    (control,) = admin.history(run.id).controls
    assert control.state == "applied"


def test_a_run_that_never_gets_further_fails(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    for attempt in (1, 2, 3):
        assert admin.run(run.id).status is RunStatus.QUEUED
        claim = worker.begin(run)
        assert claim.attempt == attempt
        worker.report(claim, "lost", "killed")
    now = admin.run(run.id)
    assert (now.status, now.status_reason) == (
        RunStatus.FAILED,
        "lost 3 times without completing a step; last reason: killed",
    )


def test_progress_gives_a_run_new_tries(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    # Two fruitless attempts, one with a step, two more fruitless ones: never three in a row.
    for attempt, gets_further in enumerate((False, False, True, False, False), start=1):
        claim = worker.begin(run)
        if gets_further:
            worker.upload(claim, [step(1, attempt=attempt)])
        worker.report(claim, "lost", "killed")
    assert admin.run(run.id).status is RunStatus.QUEUED


def test_a_deleted_run_is_revoked(worker: FakeWorker) -> None:
    body = WorkerHeartbeat(worker_id=worker.id, attempts=[AttemptHeartbeat(run_id="deleted", fencing_token=1, step=0)])
    assert worker.client.heartbeat(body).revoked == ["deleted"]
    outcome = AttemptOutcome(fencing_token=1, status="succeeded")
    assert refused(worker.client.post_outcome, "deleted", outcome).status == 404
