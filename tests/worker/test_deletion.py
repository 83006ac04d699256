"""Deleting a run really deletes: its records, its downloads, its folder; and what goes by itself after a while."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import func, select, text, update

from backend.files.storage import retention
from backend.files.storage.repository import RECORD_TABLES
from backend.kit.database import Database
from backend.models import AuditRow, Run
from bapo.api.artifacts import ArtifactCreate
from bapo.api.maintenance_jobs import DeletionOutcome, MaintenanceJobsRequest
from bapo.api.runs import BulkRequest, RunCreate, RunDetail, RunUpdate
from bapo.api.storage import DeletionRequest
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, wait_until
from tests.support.simulation import Simulation
from worker.deletion import DeletingError, delete_part
from worker.maintenance_jobs import MaintenanceJobThread

STEPS = 30


@pytest.fixture
def jobs(worker: FakeWorker, backend_server: BackendServer, tmp_path: Path) -> MaintenanceJobThread:
    """The real thing, not started: its rounds are the test's."""
    thread = MaintenanceJobThread(worker.client, tmp_path / "outgoing")
    thread.wake(worker.id, backend_server.settings.runs_dir)
    return thread


def _trained(admin: Client, worker: FakeWorker, server: BackendServer, name: str = "done with") -> RunDetail:
    run = admin.create_run(RunCreate(name=name, recipe="countdown-demo"))
    claim = worker.begin(run)
    simulation = Simulation(STEPS)
    simulation.train(STEPS)
    worker.upload(claim, simulation.records)
    worker.upload_lines(claim, ["a line of the log " * 20] * 50, "log")
    worker.report(claim, "succeeded")
    folder = server.settings.runs_dir / run.id
    for part in ("attempt-1", "checkpoints/step-000005"):
        (folder / part).mkdir(parents=True)
    (folder / "checkpoints/step-000005/weights").write_bytes(b"w" * 100_000)
    for file in ("records.jsonl", "samples.jsonl", "trainer.log"):
        (folder / "attempt-1" / file).write_bytes(b"{}\n")
    return admin.run(run.id)


def _rows_of(database: Database, run_id: str) -> int:
    with database.session() as session:
        counts = [
            select(func.count()).select_from(table.__table__).where(table.__table__.c.run_id == run_id)
            for table in RECORD_TABLES
        ]
        return sum(session.scalars(count).one() for count in counts)


def test_records_downloads_and_folder_go_and_the_audit_stays(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, database: Database, jobs: MaintenanceJobThread
) -> None:
    run = _trained(admin, worker, backend_server)
    child = admin.clone(run.id, RunCreate(name="child", recipe=None, parent_id=run.id, start=False))
    folder = backend_server.settings.runs_dir / run.id
    asked = admin.request_artifact(run.id, ArtifactCreate(kind="config"))
    file = backend_server.settings.artifact_store / asked.id
    wait_until(file.exists)
    assert _rows_of(database, run.id) > STEPS
    (item,) = admin.preview_deletion(DeletionRequest(run_ids=[run.id])).items
    assert (item.num_steps, item.num_artifacts, item.refusal) == (STEPS, 1, None)
    assert list(item.children) == [child.id]
    assert folder.exists(), "a preview changes nothing"

    admin.delete_run(run.id, permanently=True)
    assert _rows_of(database, run.id) == 0
    (waiting,) = [each for each in admin.storage().deletions if each.run_id == run.id]
    assert (waiting.part, waiting.host, waiting.author) == ("folder", "box", "admin")
    jobs.work()
    assert not folder.exists()
    assert [each for each in admin.storage().deletions if each.run_id == run.id] == []
    wait_until(lambda: not file.exists())
    assert admin.run(child.id).parent_id is None
    with database.session() as session:
        entry = session.scalars(
            select(AuditRow).where(AuditRow.action == "deleted", AuditRow.detail["run_id"].astext == run.id)
        ).one()
    assert (entry.author, entry.detail["name"], entry.detail["steps"]) == ("admin", "done with", STEPS)


def test_space_in_the_database_comes_back(admin: Client, worker: FakeWorker, backend_server: BackendServer) -> None:
    kept = _trained(admin, worker, backend_server, "kept")
    doomed = [_trained(admin, worker, backend_server, f"doomed {number}") for number in range(3)]

    admin.compact_database()
    request = BulkRequest(run_ids=[run.id for run in doomed], action="purge")
    assert admin.bulk(request).num_done == 3
    report = admin.compact_database()
    # Three of at least four runs of the same length went; indexes and empty tables have a least size.
    assert report.after_bytes < report.before_bytes - 100_000
    assert admin.run(kept.id).step == STEPS


def test_a_deletion_is_tried_until_it_is_done(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, database: Database, jobs: MaintenanceJobThread
) -> None:
    jobs.work()
    run = _trained(admin, worker, backend_server)
    admin.delete_run(run.id, permanently=True)
    (task,) = worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id)).delete
    refused = DeletionOutcome(worker_id=worker.id, reason="the disk is read-only")
    worker.client.note_deletion(task.deletion_id, refused)
    (waiting,) = admin.storage().deletions
    assert (waiting.num_tries, waiting.reason) == (1, "the disk is read-only")
    # Not again at once.
    assert worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id)).delete == []
    with database.session() as session, session.begin():
        session.execute(text("UPDATE folder_deletions SET tried_at = now() - interval '31 s'"))
    assert worker.heartbeat().has_chores
    jobs.work()
    assert not (backend_server.settings.runs_dir / run.id).exists()
    # Told again, nothing happens.
    worker.client.note_deletion(task.deletion_id, DeletionOutcome(worker_id=worker.id))


def test_a_folder_stays_until_the_forks_that_need_it_have_begun(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, database: Database, jobs: MaintenanceJobThread
) -> None:
    jobs.work()
    run = _trained(admin, worker, backend_server)
    fork = admin.create_run(RunCreate(name="fork", recipe="countdown-demo", start=False))
    with database.session() as session, session.begin():
        session.execute(update(Run).where(Run.id == fork.id).values(forked_from=run.id, fork_step=5, step=5))
    assert list(admin.preview_deletion(DeletionRequest(run_ids=[run.id])).items[0].waiting_forks) == [fork.id]
    admin.delete_run(run.id, permanently=True)
    assert worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id)).delete == []
    with database.session() as session, session.begin():
        session.execute(update(Run).where(Run.id == fork.id).values(step=6))
    jobs.work()
    assert not (backend_server.settings.runs_dir / run.id).exists()


def test_a_machine_that_is_gone_is_given_up(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, database: Database
) -> None:
    run = _trained(admin, worker, backend_server)
    with database.session() as session, session.begin():
        session.execute(update(Run).where(Run.id == run.id).values(host="long gone"))
    admin.delete_run(run.id, permanently=True)
    assert worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id)).delete == []
    (waiting,) = [each for each in admin.storage().deletions if each.host == "long gone"]
    admin.give_up_deletion(waiting.id)
    with pytest.raises(ApiError, match="no such deletion"):
        admin.give_up_deletion(waiting.id)


def test_only_what_has_ended_long_ago_goes_by_itself(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, database: Database, jobs: MaintenanceJobThread
) -> None:
    names = ("old", "starred", "tagged", "young", "put away")
    runs = {name: _trained(admin, worker, backend_server, name) for name in names}
    running = admin.create_run(RunCreate(name="running", recipe="countdown-demo"))
    worker.begin(running)
    admin.star(runs["starred"].id)
    admin.update_run(runs["tagged"].id, RunUpdate(tags=["keep"]))
    admin.update_run(runs["put away"].id, RunUpdate(archived=True))
    with database.session() as session, session.begin():
        old = [run.id for name, run in runs.items() if name != "young"]
        session.execute(update(Run).where(Run.id.in_(old)).values(finished_at=func.now() - text("interval '31 days'")))
        session.execute(
            update(Run).where(Run.id == runs["put away"].id).values(archived_at=func.now() - text("interval '91 days'"))
        )
    settings = backend_server.settings.model_copy(
        update={
            "retention_samples_days": 30.0,
            "retention_log_days": 30.0,
            "retention_checkpoints_days": 30.0,
            "retention_archived_days": 90.0,
        }
    )
    with database.session() as session:
        due = {rule.part: set(rule.due) for rule in retention.plan(session, settings)}
    assert due["samples"] == due["log"] == due["checkpoints"] == {runs["old"].id, runs["put away"].id}
    assert due["archived"] == {runs["put away"].id}
    retention.carry_out(database, settings)
    assert retention.carry_out(database, settings) == 0, "each once"
    jobs.work()
    folder = backend_server.settings.runs_dir / runs["old"].id
    assert sorted(path.name for path in folder.rglob("*")) == ["attempt-1", "records.jsonl"]
    assert admin.checkpoints(runs["old"].id).items == []
    assert admin.run(runs["old"].id).step == STEPS
    assert "retention" in {entry.action for entry in admin.history(runs["old"].id).audit}
    assert not (backend_server.settings.runs_dir / runs["put away"].id).exists()
    for name in ("starred", "tagged", "young"):
        assert (backend_server.settings.runs_dir / runs[name].id / "checkpoints").exists(), name
        assert admin.log(runs[name].id).text


def test_a_folder_is_not_deleted_through_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "abcdefghjk"
    folder.mkdir()
    (folder / "journal").write_text("precious")
    link = tmp_path / "kkkkkkkkkk"
    link.symlink_to(folder)
    with pytest.raises(DeletingError, match="is a link"):
        delete_part(link, "folder")
    for name in (tmp_path, tmp_path / "x" / "..", Path("abcdefghjk")):
        with pytest.raises(DeletingError, match="is not a run folder"):
            delete_part(name, "folder")
    # A link inside goes itself, not what it leads to.
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (folder / "checkpoints").symlink_to(outside)
    delete_part(folder, "checkpoints")
    assert (outside / "precious").exists()
    assert not (folder / "checkpoints").exists()
    delete_part(folder, "folder")
    assert not folder.exists()
    delete_part(folder, "folder")
