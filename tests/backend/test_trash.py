"""Deleted runs wait in the trash: nothing finds them but the trash, and nothing is lost until it is emptied."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import update

from backend.files.storage import retention
from backend.kit.database import Database
from backend.models import Run
from bapo.api.runs import BulkRequest, RunCreate, RunDetail
from bapo.api.storage import DeletionRequest
from bapo.client import Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import step
from tests.support.refusals import refuses
from tests.support.services import BackendServer


def draft(client: Client, name: str) -> RunDetail:
    return client.create_run(RunCreate(name=name, recipe="countdown-demo", start=False))


def listed(client: Client, trash: str = "hidden") -> set[str]:
    return {run.id for run in client.runs(trash=trash, archived="shown", limit=500).items}


def test_a_deleted_run_is_in_the_trash_alone_and_comes_back_whole(admin: Client, worker: FakeWorker) -> None:
    run = admin.create_run(RunCreate(name="regretted", recipe="countdown-demo"))
    claim = worker.begin(run)
    worker.upload(claim, list(map(step, (1, 2, 3))))
    worker.report(claim, "succeeded")
    admin.delete_run(run.id)
    assert run.id not in listed(admin)
    with refuses(404, "in_trash"):
        admin.run(run.id)
    with refuses(404):
        admin.delete_run(run.id)
    found = next(each for each in admin.runs(trash="only").items if each.id == run.id)
    assert (found.trashed_by, found.trashed_at is not None, found.step) == ("admin", True, 3)
    assert admin.run_facets().num_trashed >= 1
    assert admin.storage().num_trashed >= 1

    back = admin.restore_run(run.id)
    assert (back.notice, back.trashed_at, back.step) == (None, None, 3)
    assert len(admin.records(run.id).items) >= 3
    assert [entry.action for entry in admin.history(run.id).audit][-2:] == ["trashed", "restored"]
    with refuses(409, "not_in_trash"):
        admin.restore_run(run.id)


def test_only_who_may_change_a_run_restores_it_or_deletes_it_for_good(admin: Client, member: Client) -> None:
    run, own = draft(admin, "theirs"), draft(member, "own")
    admin.bulk(BulkRequest(run_ids=[run.id, own.id], action="delete"))
    assert {run.id, own.id} <= listed(member, "only")
    for action in ("restore", "purge"):
        answer = member.bulk(BulkRequest.model_validate({"run_ids": [run.id], "action": action}))
        assert [result.code for result in answer.results] == ["not_your_run"]
    assert member.bulk(BulkRequest(run_ids=[own.id], action="restore")).num_done == 1
    assert admin.preview_deletion(DeletionRequest(run_ids=[run.id])).items[0].refusal is None
    admin.delete_run(run.id, permanently=True)
    with refuses(404, "not_found"):
        admin.restore_run(run.id)


def test_a_key_of_a_run_in_the_trash_stays_taken(admin: Client) -> None:
    body = RunCreate(name="once", recipe="countdown-demo", start=False)
    run = admin.create_run(body, idempotency_key="trashed")
    admin.delete_run(run.id)
    with refuses(404, "in_trash"):
        admin.create_run(body, idempotency_key="trashed")
    admin.restore_run(run.id)
    assert admin.create_run(body, idempotency_key="trashed").id == run.id


def test_the_trash_is_emptied_when_its_days_are_over(
    admin: Client, database: Database, backend_server: BackendServer
) -> None:
    old, new = draft(admin, "old"), draft(admin, "new")
    admin.bulk(BulkRequest(run_ids=[old.id, new.id], action="delete"))
    with database.session() as session, session.begin():
        earlier = Run.trashed_at - timedelta(days=backend_server.settings.trash_days + 1)
        session.execute(update(Run).where(Run.id == old.id).values(trashed_at=earlier))
    retention.carry_out(database, backend_server.settings)
    in_trash = listed(admin, "only")
    assert (old.id in in_trash, new.id in in_trash) == (False, True)
