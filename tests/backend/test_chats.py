"""Chats with a run's models, as the server sees them: who may ask, which models there are, one message at a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import func, update

from backend.kit.database import Database
from backend.models import Chat
from backend.readings.chats.repository import OPEN_SECONDS
from bapo.api.chats import ChatAnswer, ChatCreate, ChatReport
from bapo.api.maintenance_jobs import MaintenanceJobsRequest
from bapo.api.runs import RunCreate, RunDetail
from bapo.client import Client
from bapo.records import EventRecord
from tests.support.fake_worker import FakeWorker
from tests.support.journals import step
from tests.support.refusals import refuses
from tests.support.services import BackendServer, add_person

BASE = ChatCreate(prompt="What is 3 + 4?", sides=["base"])


@pytest.fixture
def run(admin: Client, worker: FakeWorker) -> Iterator[RunDetail]:
    """A run that has ended, with a checkpoint of step 5, on a worker that is connected."""
    run = admin.create_run(RunCreate(name="asked", recipe="countdown-demo"))
    claim = worker.begin(run)
    written = EventRecord(attempt=1, step=5, event="checkpoint", message="", data={"checkpoint": "step-000005"})
    worker.upload(claim, [*(step(number) for number in range(1, 6)), written])
    worker.report(claim, "succeeded")
    with worker.beating():
        yield admin.run(run.id)


def said(text: str, *, is_finished: bool = False) -> ChatAnswer:
    return ChatAnswer(
        side="base", model="base", text=text, num_tokens=3, is_finished=is_finished, is_cut=False, is_correct=None
    )


def test_a_message_is_handed_to_the_worker_and_its_answer_grows(
    admin: Client, worker: FakeWorker, run: RunDetail
) -> None:
    offered = admin.chats(run.id)
    assert (offered.sides, offered.refusal, offered.num_training) == (["base", "trained"], None, 0)
    asked = admin.create_chat(run.id, BASE.model_copy(update={"seed": 2**32 - 1, "temperature": 0.7}))
    (job,) = worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id)).chat
    assert (job.chat_id, job.prompt, job.sides, job.seed) == (asked.id, BASE.prompt, ["base"], 2**32 - 1)
    assert (job.temperature, job.max_tokens, job.is_training) == (0.7, 256, False)
    for text in ("3 + 4", "3 + 4 = 7"):
        worker.client.report_chat(job.chat_id, ChatReport(worker_id=worker.id, answers=[said(text)], is_done=False))
        growing = admin.chat(run.id, asked.id)
        assert (growing.state, growing.reason) == ("answering", "w1 is answering")
        assert [each.text for each in growing.answers] == [text]
    last = ChatReport(worker_id=worker.id, answers=[said("It is 7.", is_finished=True)], is_done=True)
    worker.client.report_chat(job.chat_id, last)
    # A report that was repeated, or comes late, changes nothing.
    worker.client.report_chat(job.chat_id, ChatReport(worker_id=worker.id, answers=[], is_done=False))
    answered = admin.chat(run.id, asked.id)
    assert (answered.state, answered.answers[0].text) == ("answered", "It is 7.")
    assert answered.answered_at is not None
    assert [each.id for each in admin.chats(run.id).items] == [asked.id]


def test_a_person_asks_one_thing_at_a_time_and_another_person_meanwhile(
    admin: Client, backend_server: BackendServer, member: Client, run: RunDetail
) -> None:
    first = admin.create_chat(run.id, BASE)
    with refuses(409, "chat_open", field="id"):
        admin.create_chat(run.id, BASE)
    others = member.create_chat(run.id, BASE)
    # Only who asked may take it back, and who may change the run.
    with refuses(403, "not_your_run"):
        member.delete_chat(run.id, first.id)
    admin.delete_chat(run.id, others.id)
    admin.delete_chat(run.id, first.id)
    admin.delete_chat(run.id, admin.create_chat(run.id, BASE).id)


def test_who_only_looks_cannot_ask(backend_server: BackendServer, run: RunDetail) -> None:
    with backend_server.client(add_person(backend_server, "onlooker", "viewer")) as viewer:
        assert viewer.chats(run.id).items == []
        with refuses(403):
            viewer.create_chat(run.id, BASE)


def test_models_that_nobody_holds_cannot_be_asked(admin: Client, worker: FakeWorker, database: Database) -> None:
    draft = admin.create_run(RunCreate(name="never trained", recipe="countdown-demo", start=False))
    refusal = "none of this server's workers has trained this run, so that none holds its models"
    assert admin.chats(draft.id).refusal == refusal
    with refuses(409, "no_models"):
        admin.create_chat(draft.id, BASE)


def test_a_side_that_the_run_lacks_is_refused(admin: Client, worker: FakeWorker, run: RunDetail) -> None:
    with refuses(422, field="sides"):
        admin.create_chat(run.id, ChatCreate(prompt="hi", sides=["base", "warm_start"]))
    young = admin.create_run(RunCreate(name="young", recipe="countdown-demo", changes={"warm_start.steps": 3}))
    claim = worker.begin(young)
    offered = admin.chats(young.id)
    assert (offered.sides, offered.num_training) == (["base", "warm_start"], 1)
    with refuses(422, field="sides"):
        admin.create_chat(young.id, ChatCreate(prompt="hi"))
    admin.delete_chat(young.id, admin.create_chat(young.id, BASE).id)
    worker.report(claim, "succeeded")


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": ""},
        {"prompt": "x" * 20_001},
        {"sides": []},
        {"sides": ["base", "base"]},
        {"sides": ["latest"]},
        {"max_tokens": 0},
        {"max_tokens": 4_097},
        {"temperature": -0.1},
        {"seed": 2**32},
    ],
)
def test_each_limit_names_its_field(admin: Client, run: RunDetail, changes: dict[str, object]) -> None:
    answer = admin.http.post(f"/runs/{run.id}/chats", json={"prompt": "hi"} | changes)
    assert answer.status_code == 422
    assert answer.json()["field"].split(".")[0] == next(iter(changes))


def test_a_chat_without_an_answer_has_failed_after_a_time_and_blocks_no_further_one(
    admin: Client, worker: FakeWorker, database: Database, run: RunDetail
) -> None:
    asked = admin.create_chat(run.id, BASE)
    with database.session() as session, session.begin():
        long_ago = func.now() - timedelta(seconds=OPEN_SECONDS + 1)
        session.execute(update(Chat).where(Chat.id == asked.id).values(requested_at=long_ago))
    failed = admin.chat(run.id, asked.id)
    assert failed.state == "failed"
    assert failed.reason == "no answer within 15 minutes: the worker on box is gone, or of an earlier release"
    assert worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id)).chat == []
    admin.delete_chat(run.id, admin.create_chat(run.id, BASE).id)


def test_another_worker_cannot_answer(backend_server: BackendServer, admin: Client, run: RunDetail) -> None:
    asked = admin.create_chat(run.id, BASE)
    other = FakeWorker(backend_server, name="other", host="elsewhere")
    try:
        assert other.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=other.id)).chat == []
        with refuses(404):
            other.client.report_chat(asked.id, ChatReport(worker_id=other.id, answers=[], is_done=True))
    finally:
        other.close()
    admin.delete_chat(run.id, asked.id)
