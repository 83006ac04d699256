"""Uploading to a real server: nothing lost and nothing doubled, whatever becomes of an answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import httpx
import pytest

from bapo.api.runs import ControlInfo, RunCreate, RunStatus
from bapo.api.workers import AttemptOutcome, PendingControl, RecordBatch
from bapo.client import ApiError, Client
from bapo.client.call import Call
from bapo.run.control import read_requests
from bapo.run.journal import RECORDS_FILE, Journal
from bapo.run.line_reader import read_lines
from tests.support.fake_worker import FakeWorker
from tests.support.journals import event, sample, step
from tests.support.services import BackendServer, wait_until
from worker import supervision
from worker.attempts import Attempt, AttemptStore
from worker.supervision import AttemptSupervisor, is_unreachable
from worker.upload import Uploader

T = TypeVar("T")


@pytest.fixture
def attempt(admin: Client, worker: FakeWorker, tmp_path: Path) -> Attempt:
    """A claimed first attempt whose folder is empty."""
    run = admin.create_run(RunCreate(name="upload", recipe="countdown-demo"))
    claim = worker.claim(run.id)
    return Attempt(run_id=run.id, number=claim.attempt, fencing_token=claim.fencing_token, run_folder=tmp_path / "run")


class AnswerLost(Client):
    """The server gets every batch of lines, but the answer to the first one is lost."""

    lost = False

    def send(self, call: Call[T]) -> T:
        answer = super().send(call)
        if isinstance(call.body, RecordBatch) and call.body.lines and not self.lost:
            self.lost = True
            raise httpx.ReadError("the connection was reset")
        return answer


def write_steps(attempt: Attempt, first: int, last: int) -> None:
    journal = Journal(attempt.folder)
    for number in range(first, last + 1):
        journal.write(step(number, attempt=attempt.number))
        journal.write_sample(sample(number, attempt=attempt.number))
    journal.close()


def pump_all(uploader: Uploader) -> None:
    while uploader.pump(everything=True):
        pass


def steps_of(admin: Client, run_id: str) -> list[int]:
    return [record["step"] for record in admin.records(run_id, type="step", limit=1000).items]


def test_what_is_appended_is_uploaded(admin: Client, worker: FakeWorker, attempt: Attempt) -> None:
    uploader = Uploader(worker.client, attempt)
    assert not uploader.pump(everything=True)
    write_steps(attempt, 1, 3)
    (attempt.folder / "trainer.log").write_text("loading\nunfinished")
    pump_all(uploader)
    assert (steps_of(admin, attempt.run_id), uploader.step) == ([1, 2, 3], 3)
    write_steps(attempt, 4, 4)
    pump_all(uploader)
    assert (steps_of(admin, attempt.run_id), uploader.step) == ([1, 2, 3, 4], 4)
    assert len(admin.samples(attempt.run_id).items) == 4
    assert admin.log(attempt.run_id, 0).text == "loading\n"


def test_a_trainer_that_is_writing_gets_its_lines_into_one_upload(
    admin: Client, worker: FakeWorker, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(attempt.folder)
    journal.write(step(1, attempt=attempt.number))
    later = [step(2, attempt=attempt.number), step(3, attempt=attempt.number)]

    def write_meanwhile(_: float) -> None:
        if later:
            journal.write(later.pop(0))

    monkeypatch.setattr("worker.upload.time.sleep", write_meanwhile)
    uploader = Uploader(worker.client, attempt)
    assert uploader.pump()
    assert steps_of(admin, attempt.run_id) == [1, 2, 3]
    assert not uploader.pump(), "nothing was left for a second one"


def test_a_lost_answer_doubles_nothing(
    admin: Client, backend_server: BackendServer, worker: FakeWorker, attempt: Attempt
) -> None:
    write_steps(attempt, 1, 2)
    with AnswerLost(backend_server.url, token=backend_server.worker_token) as client:
        uploader = Uploader(client, attempt)
        with pytest.raises(httpx.ReadError):
            uploader.pump(everything=True)
        write_steps(attempt, 3, 3)
        pump_all(uploader)
    assert steps_of(admin, attempt.run_id) == [1, 2, 3]
    assert len(admin.samples(attempt.run_id).items) == 3


def test_a_new_uploader_goes_on_where_the_server_is(admin: Client, worker: FakeWorker, attempt: Attempt) -> None:
    write_steps(attempt, 1, 2)
    pump_all(Uploader(worker.client, attempt))
    write_steps(attempt, 3, 4)
    pump_all(Uploader(worker.client, attempt))
    assert steps_of(admin, attempt.run_id) == [1, 2, 3, 4]


def test_lines_that_a_lost_attempt_left_are_uploaded_by_the_next(
    admin: Client, worker: FakeWorker, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One line at a time, as if there were more than one request takes.
    monkeypatch.setattr("worker.upload.read_lines", partial(read_lines, chunk_bytes=1))
    write_steps(attempt, 1, 2)
    pump_all(Uploader(worker.client, attempt))
    # Written after the worker had died; the next attempt resumes from the checkpoint of step 4.
    write_steps(attempt, 3, 5)
    worker.client.post_outcome(attempt.run_id, AttemptOutcome(fencing_token=attempt.fencing_token, status="lost"))
    claim = worker.claim(attempt.run_id)
    assert claim.attempt == 2
    second = attempt.model_copy(update={"number": 2, "fencing_token": claim.fencing_token})
    journal = Journal(second.folder)
    journal.write(event("resumed", 4, attempt=2))
    journal.close()
    write_steps(second, 5, 6)
    pump_all(Uploader(worker.client, second))
    records = admin.records(attempt.run_id, type="step", limit=1000).items
    assert [(record["step"], record["attempt"]) for record in records] == [
        *((number, 1) for number in (1, 2, 3, 4)),
        *((number, 2) for number in (5, 6)),
    ]


def test_an_attempt_that_was_replaced_is_refused_for_good(worker: FakeWorker, attempt: Attempt) -> None:
    write_steps(attempt, 1, 1)
    stale = attempt.model_copy(update={"fencing_token": attempt.fencing_token - 1})
    with pytest.raises(ApiError) as refusal:
        Uploader(worker.client, stale).pump(everything=True)
    assert refusal.value.status == 409
    assert not is_unreachable(refusal.value)
    assert is_unreachable(httpx.ConnectError("refused"))


def test_a_control_is_written_once_however_often_it_is_asked_for(
    admin: Client, worker: FakeWorker, attempt: Attempt, tmp_path: Path
) -> None:
    attempt.run_folder.mkdir()
    supervisor = AttemptSupervisor(worker.client, AttemptStore(tmp_path / "attempts"), attempt)
    asked: ControlInfo = admin.history(admin.pause(attempt.run_id).id).controls[0]
    pending = PendingControl(run_id=attempt.run_id, id=asked.id, author=asked.author, at_step=None, set={}, stop=True)
    for _ in range(3):
        supervisor.control(pending)
    requests, rejected = read_requests(attempt.run_folder)
    assert [(request.id, request.stop) for request in requests] == [(asked.id, True)]
    assert rejected == []


def test_a_run_that_was_stopped_while_its_worker_was_silent_gets_its_last_lines(
    worker: FakeWorker, admin: Client, attempt: Attempt, tmp_path: Path
) -> None:
    admin.stop(attempt.run_id)
    body = AttemptOutcome(fencing_token=attempt.fencing_token, status="lost")
    worker.client.post_outcome(attempt.run_id, body)
    assert admin.run(attempt.run_id).status is RunStatus.CANCELLED
    write_steps(attempt, 1, 3)
    supervisor = AttemptSupervisor(worker.client, AttemptStore(tmp_path / "attempts"), attempt)
    supervisor.revoke()
    supervisor.run()
    assert [record["step"] for record in admin.records(attempt.run_id, type="step").items] == [1, 2, 3]
    assert admin.run(attempt.run_id).step == 3


def _delete_run_folder(attempt: Attempt) -> None:
    shutil.rmtree(attempt.run_folder)


def _put_a_folder_in_place_of_the_journal(attempt: Attempt) -> None:
    (attempt.folder / RECORDS_FILE).unlink()
    (attempt.folder / RECORDS_FILE).mkdir()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [(_delete_run_folder, "is gone: clone the run"), (_put_a_folder_in_place_of_the_journal, "cannot be read")],
)
def test_a_run_whose_folder_is_damaged_fails_with_the_reason_and_the_worker_goes_on(
    worker: FakeWorker,
    admin: Client,
    attempt: Attempt,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Attempt], None],
    reason: str,
) -> None:
    monkeypatch.setattr(supervision, "UNREADABLE_SECONDS", 0.5)
    write_steps(attempt, 1, 2)
    damage(attempt)
    store = AttemptStore(tmp_path / "attempts")
    # As after a restart of the worker: the trainer that it had started is no more.
    adopted = attempt.model_copy(update={"pid": 2**30, "created": 1.0})
    store.save(adopted)
    AttemptSupervisor(worker.client, store, adopted).run()
    run = admin.run(attempt.run_id)
    assert run.status is RunStatus.FAILED
    assert reason in (run.status_reason or "")
    assert list(store.all()) == []


def test_a_journal_that_cannot_be_read_for_a_while_is_uploaded_afterwards(
    worker: FakeWorker, admin: Client, attempt: Attempt, tmp_path: Path
) -> None:
    write_steps(attempt, 1, 2)
    journal = (attempt.folder / RECORDS_FILE).read_bytes()
    _put_a_folder_in_place_of_the_journal(attempt)
    supervisor = AttemptSupervisor(worker.client, AttemptStore(tmp_path / "attempts"), attempt)
    supervisor.start()
    wait_until(lambda: supervisor.attempt.ending is not None)
    (attempt.folder / RECORDS_FILE).rmdir()
    (attempt.folder / RECORDS_FILE).write_bytes(journal)
    supervisor.join()
    assert [record["step"] for record in admin.records(attempt.run_id, type="step").items] == [1, 2]
