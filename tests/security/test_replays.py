"""Workers' messages that are told again, late, in another order, or by somebody else."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from backend.kit.database import Database
from backend.kit.principal import hash_of
from backend.models import ApiToken
from bapo.api.artifacts import ArtifactCreate
from bapo.api.maintenance_jobs import (
    ArtifactFailure,
    ArtifactFinish,
    DeletionOutcome,
    FolderSize,
    FolderSizes,
    MaintenanceJobsRequest,
)
from bapo.api.runs import ParameterChange, RunCreate, RunDetail
from bapo.api.workers import AttemptHeartbeat, AttemptOutcome, RecordBatch, WorkerHeartbeat, WorkerRegistration
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import batch, lines_of, step
from tests.support.refusals import refuses
from tests.support.services import BackendServer


@pytest.fixture
def run(admin: Client) -> RunDetail:
    return admin.create_run(RunCreate(name="attacked", recipe="countdown-demo"))


@pytest.fixture
def intruder(backend_server: BackendServer, database: Database) -> Iterator[tuple[Client, str]]:
    """A worker with a token of its own, on a machine of another name."""
    secret = "intruders-token"
    with database.session() as session, session.begin():
        session.merge(ApiToken(id="intruder", secret_hash=hash_of(secret), name="intruder", kind="worker", scopes=[]))
    with backend_server.client(secret) as client:
        welcome = client.register_worker(WorkerRegistration(name="intruder", host="elsewhere", slots=1, version="0"))
        yield client, welcome.worker_id
    with database.session() as session, session.begin():
        session.execute(text("UPDATE workers SET last_seen_at = now() - interval '1 day' WHERE name = 'intruder'"))


def test_what_an_earlier_attempt_says_later_is_refused(admin: Client, worker: FakeWorker, run: RunDetail) -> None:
    old = worker.begin(run)
    worker.upload(old, [step(1)])
    worker.report(old, "lost")
    new = worker.begin(admin.run(run.id))
    assert new.fencing_token > old.fencing_token
    worker.upload(new, [step(1, attempt=2, reward_mean=0.75)])
    replayed = [
        lambda: worker.upload(old, [step(2)]),
        lambda: worker.report(old, "succeeded"),
        lambda: worker.report(old, "failed"),
        lambda: worker.client.post_outcome(run.id, AttemptOutcome(fencing_token=-1, status="succeeded")),
    ]
    for replay in replayed:
        with refuses(409, "stale_fencing_token"):
            replay()
    assert worker.heartbeat(old).revoked == [run.id]
    now = admin.run(run.id)
    assert (now.status, now.step, now.reward_mean) == ("running", 1, 0.75)


def test_an_earlier_attempts_file_never_replaces_a_later_ones_steps(
    admin: Client, worker: FakeWorker, run: RunDetail
) -> None:
    old = worker.begin(run)
    worker.report(old, "lost")
    new = worker.begin(admin.run(run.id))
    worker.upload(new, [step(1, attempt=2, reward_mean=0.75)])
    body = batch(lines_of([step(1, reward_mean=0.25)]), token=new.fencing_token, attempt=1)
    worker.client.post_records(run.id, body)
    (record,) = admin.records(run.id, type="step").items
    assert record["reward_mean"] == 0.75


def test_records_for_somebody_elses_run_are_refused(
    admin: Client, worker: FakeWorker, run: RunDetail, intruder: tuple[Client, str]
) -> None:
    client, worker_id = intruder
    claim = worker.begin(run)
    attacks = [
        lambda: client.post_records(run.id, batch(lines_of([step(1)]), token=claim.fencing_token)),
        lambda: client.post_outcome(run.id, AttemptOutcome(fencing_token=claim.fencing_token, status="succeeded")),
        lambda: client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id)),
        lambda: client.note_folder_sizes(FolderSizes(worker_id=worker.id, folders=[])),
    ]
    for attack in attacks:
        with refuses(404, "not_found"):
            attack()
    # A heartbeat in the name of the run's worker is refused; in its own name the intruder holds nothing of the run.
    beat = AttemptHeartbeat(run_id=run.id, fencing_token=claim.fencing_token, step=7, stop_seconds=12_345.0)
    with refuses(404, "not_found"):
        client.heartbeat(WorkerHeartbeat(worker_id=worker.id, attempts=[beat], system={}))
    admin.change_parameters(run.id, ParameterChange(set={"method.c1": 0.25}))
    answer = client.heartbeat(WorkerHeartbeat(worker_id=worker_id, attempts=[beat], system={}))
    assert (answer.revoked, answer.controls) == ([run.id], [])
    assert admin.run(run.id).stop_seconds != 12_345.0
    assert [each.set for each in worker.heartbeat(claim).controls] == [{"method.c1": 0.25}]
    sizes = FolderSizes(worker_id=worker_id, folders=[FolderSize(run_id=run.id, num_bytes=2**61)])
    client.note_folder_sizes(sizes)
    assert (admin.run(run.id).step, admin.run(run.id).status) == (0, "running")
    assert (admin.run(run.id).storage_bytes or 0) < 2**61


def test_nobody_uploads_an_artifact_that_another_worker_packs(
    admin: Client, worker: FakeWorker, run: RunDetail, intruder: tuple[Client, str]
) -> None:
    client, worker_id = intruder
    worker.begin(run)
    asked = admin.request_artifact(run.id, ArtifactCreate(kind="journal"))
    assert client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker_id)).pack == []
    sha256 = hashlib.sha256(b"evil").hexdigest()
    finish = ArtifactFinish(worker_id=worker_id, num_bytes=4, sha256=sha256)
    for _ in range(2):
        for attack in (
            lambda: client.upload_artifact(asked.id, worker_id, 0, 4, b"evil"),
            lambda: client.finish_artifact(asked.id, finish),
            lambda: client.fail_artifact(asked.id, ArtifactFailure(worker_id=worker_id, reason="x")),
        ):
            with refuses(404, "not_found"):
                attack()
        # And once more when its own worker has begun.
        worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id))
    assert admin.artifact(run.id, asked.id).state == "preparing"
    worker.client.fail_artifact(asked.id, ArtifactFailure(worker_id=worker.id, reason="the next test's turn"))


def test_pieces_of_an_artifact_in_any_order_make_the_file_or_none(
    admin: Client, worker: FakeWorker, run: RunDetail, backend_server: BackendServer
) -> None:
    worker.begin(run)
    content = bytes(range(200)) * 5
    asked = admin.request_artifact(run.id, ArtifactCreate(kind="journal"))
    worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id))

    def put(begin: int, end: int) -> int:
        return worker.client.upload_artifact(asked.id, worker.id, begin, 1000, content[begin:end]).next_offset

    assert put(500, 1000) == 0, "a gap stores nothing"
    assert put(0, 400) == 400
    assert put(0, 400) == 400, "told again"
    assert put(300, 700) == 400, "overlapping"
    with pytest.raises(ApiError, match="the file ends at 1000"):
        worker.client.upload_artifact(asked.id, worker.id, 900, 1000, b"x" * 200)
    assert put(400, 1000) == 1000
    wrong = ArtifactFinish(worker_id=worker.id, num_bytes=1000, sha256="0" * 64)
    assert worker.client.finish_artifact(asked.id, wrong).state == "failed"
    store = backend_server.settings.artifact_store
    assert not (store / asked.id).exists()
    assert not (store / f"{asked.id}.part").exists()


def test_lines_in_any_order_cut_anywhere_are_stored_once(admin: Client, worker: FakeWorker, run: RunDetail) -> None:
    claim = worker.begin(run)
    lines = lines_of([step(number) for number in range(1, 31)])
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line.encode()) + 1)
    draws = random.Random(5)
    stored = 0
    while stored < offsets[-1]:
        first, last = sorted(draws.sample(range(len(lines) + 1), 2))
        body = RecordBatch(
            fencing_token=claim.fencing_token,
            attempt=1,
            kind="records",
            start_offset=offsets[first],
            end_offset=offsets[last],
            lines=lines[first:last],
        )
        answered = worker.client.post_records(run.id, body).next_offset
        assert answered == (offsets[last] if offsets[first] <= stored < offsets[last] else stored)
        stored = answered
    assert [record["step"] for record in admin.records(run.id, type="step").items] == list(range(1, 31))


@pytest.mark.parametrize(
    ("start", "end"), [(10, 5), (0, 0), (0, 1), (2**62, 2**62 + 1), (2**63 - 2, 2**63 - 1), (2**70, 2**70 + 5_000)]
)
def test_offsets_that_cannot_be_store_nothing(
    admin: Client, worker: FakeWorker, run: RunDetail, start: int, end: int
) -> None:
    claim = worker.begin(run)
    send = RecordBatch.model_construct(
        fencing_token=claim.fencing_token,
        attempt=1,
        kind="records",
        start_offset=start,
        end_offset=end,
        lines=lines_of([step(1)]),
    )
    answer = worker.client.http.post(f"/workers/runs/{run.id}/records", content=send.model_dump_json())
    assert answer.status_code == 422 or answer.json() == {"next_offset": 0}, answer.text
    assert admin.run(run.id).step == 0


@pytest.mark.parametrize("attempt", [0, -1, 2, 2**40])
def test_files_of_attempts_that_are_not_there_are_refused(
    admin: Client, worker: FakeWorker, run: RunDetail, attempt: int
) -> None:
    claim = worker.begin(run)
    body = RecordBatch.model_construct(
        fencing_token=claim.fencing_token, attempt=attempt, kind="records", start_offset=0, end_offset=2, lines=["{"]
    )
    with refuses(422):
        worker.client.post_records(run.id, body)


def test_a_deletion_of_another_machine_is_not_reported_done(
    admin: Client, worker: FakeWorker, run: RunDetail, intruder: tuple[Client, str]
) -> None:
    client, worker_id = intruder
    claim = worker.begin(run)
    worker.report(claim, "succeeded")
    admin.delete_run(run.id, permanently=True)
    (waiting,) = [each for each in admin.storage().deletions if each.run_id == run.id]
    client.note_deletion(waiting.id, DeletionOutcome(worker_id=worker_id))
    assert waiting.id in {each.id for each in admin.storage().deletions}
