"""What a worker packs, deletes, measures and answers for a real server."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from bapo.api.artifacts import ArtifactCreate
from bapo.api.chats import ChatCreate
from bapo.api.maintenance_jobs import MaintenanceJobsRequest
from bapo.api.runs import RunCreate, RunDetail, RunFork
from bapo.client import ApiError, Client
from bapo.client.downloads import download, wait_until_ready
from bapo.config.paths import SHIPPED_MODELS
from bapo.files.archive import unpack
from bapo.observe.upload import describe_folder
from bapo.records import EventRecord
from bapo.run.checkpoint import CheckpointError, newest_sound, write_checkpoint
from bapo.run.run_folder import read_config
from bapo.tasks import build_task
from tests.support.fake_worker import FakeWorker
from tests.support.imports import send_folder
from tests.support.journals import lines_of, step
from tests.support.late_imports import late_imports
from tests.support.services import BackendServer, wait_until
from tests.support.waiting import PATIENCE_SECONDS
from worker.chats import ChatAnswering
from worker.maintenance_jobs import MaintenanceJobThread
from worker.run_folders import prepare

with late_imports():
    from transformers import AutoModelForCausalLM, AutoTokenizer

MODEL = SHIPPED_MODELS / "countdown-base"


@pytest.fixture
def jobs(worker: FakeWorker, backend_server: BackendServer, tmp_path: Path) -> MaintenanceJobThread:
    """The real thing, not started: its rounds are the test's."""
    thread = MaintenanceJobThread(worker.client, tmp_path / "outgoing")
    thread.wake(worker.id, backend_server.settings.runs_dir)
    return thread


def _checkpoint(step: int) -> EventRecord:
    return EventRecord(attempt=1, step=step, event="checkpoint", message="", data={"checkpoint": f"step-{step:06d}"})


def _trained(admin: Client, worker: FakeWorker, server: BackendServer) -> tuple[RunDetail, Path]:
    """A run that ended, with a checkpoint in its folder."""
    run = admin.create_run(RunCreate(name="To be fetched: 100 %/..", recipe="countdown-demo"))
    claim = worker.begin(run)
    folder = server.settings.runs_dir / run.id
    (folder / "attempt-1").mkdir(parents=True)
    (folder / "config.json").write_text(run.model_dump_json(include={"config"})[len('{"config":') : -1])
    records = [_checkpoint(5)]
    (folder / "attempt-1" / "records.jsonl").write_text("".join(line + "\n" for line in lines_of(records)))
    write_checkpoint(folder, 5, _fill, keep=2)
    worker.upload(claim, records)
    worker.report(claim, "succeeded")
    return admin.run(run.id), folder


def _fill(target: Path) -> None:
    shutil.copytree(MODEL, target / "model")
    # A pickle among them stays where it is.
    (target / "model" / "training_args.bin").write_bytes(b"\x80\x04.")


def test_a_checkpoint_comes_as_a_folder_that_hugging_face_loads(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, jobs: MaintenanceJobThread, tmp_path: Path
) -> None:
    run, _ = _trained(admin, worker, backend_server)
    asked = admin.request_artifact(run.id, ArtifactCreate(kind="checkpoint", step=5))
    assert (asked.state, asked.reason) == ("requested", "waiting for the worker on box, which has the run's folder")
    assert admin.request_artifact(run.id, ArtifactCreate(kind="checkpoint", step=5)).id == asked.id
    assert worker.heartbeat().has_chores
    jobs.work()
    ready = wait_until_ready(admin, asked, 1.0)
    target = tmp_path / ready.file_name
    assert ready.file_name == f"To-be-fetched-100-{run.id}-step-000005.zip"
    download(admin, ready, target)
    unpack(target, tmp_path / "unpacked")
    (folder,) = (tmp_path / "unpacked").iterdir()
    assert "training_args.bin" not in {path.name for path in folder.iterdir()}
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    assert AutoTokenizer.from_pretrained(folder, local_files_only=True).vocab_size <= model.config.vocab_size
    # What is done is done.
    assert not (tmp_path / "outgoing" / asked.id).exists()


def test_a_journal_comes_as_a_folder_that_can_be_imported(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, jobs: MaintenanceJobThread, tmp_path: Path
) -> None:
    run, folder = _trained(admin, worker, backend_server)
    asked = admin.request_artifact(run.id, ArtifactCreate(kind="journal"))
    jobs.work()
    ready = wait_until_ready(admin, asked, 1.0)
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    download(admin, ready, first)
    unpack(first, tmp_path / "unpacked")
    (journal,) = (tmp_path / "unpacked").iterdir()
    assert (journal / "attempt-1" / "records.jsonl").read_text() == (folder / "attempt-1" / "records.jsonl").read_text()
    info = admin.create_import(describe_folder(journal, name="again", group=None))
    send_folder(admin, info, journal)
    assert admin.finish_import(info.run_id).name == "again"
    # The same content makes the same bytes.
    admin.delete_artifact(run.id, ready.id)
    again = admin.request_artifact(run.id, ArtifactCreate(kind="journal"))
    jobs.work()
    download(admin, wait_until_ready(admin, again, 1.0), second)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_what_the_server_knows_it_makes_itself(
    admin: Client, worker: FakeWorker, backend_server: BackendServer
) -> None:
    run, _ = _trained(admin, worker, backend_server)
    for kind, suffix in (("config", ".toml"), ("log", ".log"), ("samples", ".jsonl")):
        asked = admin.request_artifact(run.id, ArtifactCreate.model_validate({"kind": kind}))
        wait_until_ready(admin, asked, PATIENCE_SECONDS)
        assert asked.file_name.endswith(suffix)


def test_a_checkpoint_that_is_not_kept_is_refused_at_once(
    admin: Client, worker: FakeWorker, backend_server: BackendServer
) -> None:
    run, _ = _trained(admin, worker, backend_server)
    with pytest.raises(ApiError, match="it has 5"):
        admin.request_artifact(run.id, ArtifactCreate(kind="checkpoint", step=6))


def test_a_damaged_checkpoint_is_not_handed_out(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, jobs: MaintenanceJobThread
) -> None:
    run, folder = _trained(admin, worker, backend_server)
    with (folder / "checkpoints/step-000005/model/model.safetensors").open("r+b") as file:
        file.seek(1000)
        file.write(b"x")
    asked = admin.request_artifact(run.id, ArtifactCreate(kind="checkpoint", step=5))
    jobs.work()
    failed = admin.artifact(run.id, asked.id)
    assert failed.state == "failed"
    assert failed.reason == "the checkpoint of step 5 is damaged: model/model.safetensors has another checksum"


def test_the_size_of_a_folder_reaches_the_list_of_checkpoints(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, jobs: MaintenanceJobThread
) -> None:
    run, folder = _trained(admin, worker, backend_server)

    def measured() -> bool:
        worker.heartbeat()
        jobs.work()
        return admin.checkpoints(run.id).items[0].num_bytes is not None

    wait_until(measured)
    size = sum(path.stat().st_size for path in (folder / "checkpoints").rglob("*") if path.is_file())
    assert admin.checkpoints(run.id).items[0].num_bytes == size


def test_a_fork_that_waits_keeps_the_checkpoint_that_its_parent_takes_away(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, jobs: MaintenanceJobThread
) -> None:
    parent = admin.create_run(RunCreate(name="trains on", recipe="countdown-demo"))
    claim = worker.begin(parent)
    folder = backend_server.settings.runs_dir / parent.id
    folder.mkdir(parents=True)
    write_checkpoint(folder, 5, _fill, keep=1)
    worker.upload(claim, [step(number) for number in range(1, 6)] + [_checkpoint(5)])
    fork = admin.fork(parent.id, RunFork(step=5, name="waits", start=False))
    worker.heartbeat(claim)
    jobs.work()
    weights = "checkpoints/step-000005/model/model.safetensors"
    kept = backend_server.settings.runs_dir / fork.id / weights
    assert kept.samefile(folder / weights), "linked, so that it takes no room"
    assert not worker.heartbeat(claim).has_chores, "once"

    write_checkpoint(folder, 10, _fill, keep=1)
    assert not (folder / weights).exists()
    worker.upload(claim, [step(number) for number in range(6, 11)] + [_checkpoint(10)])
    admin.start(fork.id)
    begun = worker.claim(fork.id)
    # What a worker does when it starts the run.
    prepare(kept.parents[3], begun)
    assert newest_sound(kept.parents[3])[0] == kept.parents[1]
    # A deleted draft leaves nothing, though no worker has begun it.
    draft = admin.fork(parent.id, RunFork(step=10, name="draft", start=False))
    jobs.work()
    assert (backend_server.settings.runs_dir / draft.id).is_dir()
    admin.delete_run(draft.id, permanently=True)
    jobs.work()
    assert not (backend_server.settings.runs_dir / draft.id).exists()


def test_a_checkpoint_that_is_gone_is_said_by_the_forks_start_and_by_no_job(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, jobs: MaintenanceJobThread
) -> None:
    parent = admin.create_run(RunCreate(name="lost its folder", recipe="countdown-demo"))
    claim = worker.begin(parent)
    worker.upload(claim, [step(number) for number in range(1, 6)] + [_checkpoint(5)])
    fork = admin.fork(parent.id, RunFork(step=5, name="too late", start=False))
    jobs.work()
    assert not worker.heartbeat(claim).has_chores
    assert admin.run(fork.id).status == "draft"
    admin.start(fork.id)
    with pytest.raises(CheckpointError, match="it is no longer there"):
        prepare(backend_server.settings.runs_dir / fork.id, worker.claim(fork.id))


# ---------------------------------------------------------------- chats


def test_a_runs_models_answer_a_person_and_the_verifier_judges(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, jobs: MaintenanceJobThread, tmp_path: Path
) -> None:
    run, folder = _trained(admin, worker, backend_server)
    problem = build_task(read_config(folder).task).train[0]
    asked = admin.create_chat(run.id, ChatCreate(prompt=problem.prompt, max_tokens=12))
    assert (asked.state, asked.reason) == ("requested", "waiting for the worker on box, which holds the run's models")
    assert worker.heartbeat().has_chores
    jobs.work()
    answered = admin.chat(run.id, asked.id)
    assert (answered.state, answered.reason) == ("answered", None)
    # The checkpoint of this run is a copy of its base.
    base, trained = answered.answers
    assert (base.model, trained.model) == ("base", "step 5")
    assert base.text == trained.text
    assert (base.is_finished, base.is_correct) == (True, trained.is_correct)
    assert base.is_correct is not None
    assert list(worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id)).chat) == []
    assert not (tmp_path / "outgoing" / asked.id).exists()


def test_a_chat_that_cannot_be_answered_says_why(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, jobs: MaintenanceJobThread
) -> None:
    run, folder = _trained(admin, worker, backend_server)
    shutil.rmtree(folder / "checkpoints")
    asked = admin.create_chat(run.id, ChatCreate(prompt="1 2 3=6"))
    jobs.work()
    failed = admin.chat(run.id, asked.id)
    assert (failed.state, failed.reason) == ("failed", "the run has no checkpoint with a model: train it further")


def test_a_chat_that_was_deleted_meanwhile_is_dropped(
    admin: Client, worker: FakeWorker, backend_server: BackendServer, tmp_path: Path
) -> None:
    run, folder = _trained(admin, worker, backend_server)
    asked = admin.create_chat(run.id, ChatCreate(prompt="1 2 3=6"))
    (job,) = worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id)).chat
    admin.delete_chat(run.id, asked.id)
    ChatAnswering(worker.client, worker.id, job, tmp_path / "chat").run(folder)
    assert not (tmp_path / "chat").exists()
    assert [each.id for each in admin.chats(run.id).items] == []
