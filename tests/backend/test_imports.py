"""Runs that were trained without a server."""

from __future__ import annotations

import pytest

from bapo.api.imports import ImportCreate
from bapo.api.runs import RunDetail, RunStatus
from bapo.client import ApiError, Client
from bapo.records import AnyRecord
from tests.support.imports import CONFIG, begin, send
from tests.support.journals import batch, evaluation, event, lines_of, sample, step
from tests.support.refusals import refuses


@pytest.mark.parametrize(
    ("ending", "status", "reason"),
    [
        ("finished", RunStatus.SUCCEEDED, None),
        ("failed", RunStatus.FAILED, "failed happened"),
        ("stop", RunStatus.CANCELLED, "imported: its journal ends after step 2"),
        ("checkpoint", RunStatus.CANCELLED, "imported: its journal ends after step 2"),
    ],
)
def test_a_run_takes_the_state_of_its_journal(
    admin: Client, ending: str, status: RunStatus, reason: str | None
) -> None:
    info = begin(admin, f"folder-{ending}")
    assert info.is_new
    send(admin, info, [event("started", num_steps=2), evaluation(0, 0.2), step(1), step(2), event(ending, 2)])
    run = admin.finish_import(info.run_id)
    assert (run.status, run.status_reason, run.step, run.eval_base) == (status, reason, 2, 0.2)
    assert run.started_at is not None
    assert run.finished_at is not None
    # The journal's own times: events and steps at 1,700,000,000 + step.
    assert (run.finished_at - run.started_at).total_seconds() == 2
    assert run.config == CONFIG


def test_an_import_sent_again_changes_nothing(admin: Client) -> None:
    first = begin(admin, "again")
    records: list[AnyRecord] = [event("started"), step(1), event("finished", 1)]
    send(admin, first, records)
    admin.finish_import(first.run_id)
    second = begin(admin, "again")
    assert (second.run_id, second.fencing_token, second.is_new) == (first.run_id, first.fencing_token, False)
    send(admin, second, records)
    assert len(admin.records(first.run_id).items) == 3
    assert admin.finish_import(first.run_id).status is RunStatus.SUCCEEDED


def test_a_folder_that_went_on_is_completed(admin: Client) -> None:
    first = begin(admin, "longer")
    stored = send(admin, first, [step(1), step(2)])
    assert admin.finish_import(first.run_id).status is RunStatus.CANCELLED
    second = begin(admin, "longer", attempts=2)
    assert second.fencing_token > first.fencing_token
    send(admin, second, [step(3)], start=stored)
    send(admin, second, [step(3, attempt=2), event("finished", 3, attempt=2)], attempt=2)
    run = admin.finish_import(first.run_id)
    assert (run.status, run.step, run.attempt) == (RunStatus.SUCCEEDED, 3, 2)
    with pytest.raises(ApiError) as refusal:
        send(admin, first, [step(9)], start=stored)
    assert refusal.value.body.code == "stale_fencing_token"


def test_responses_and_logs_are_imported(admin: Client) -> None:
    info = begin(admin, "samples")
    admin.import_records(info.run_id, batch(lines_of([sample(1)]), token=info.fencing_token, kind="samples"))
    admin.import_records(info.run_id, batch(["hello"], token=info.fencing_token, kind="log"))
    assert len(admin.samples(info.run_id).items) == 1
    assert admin.log(info.run_id).text == "hello\n"


def test_a_config_that_cannot_be_is_refused(admin: Client) -> None:
    body = ImportCreate(name="x", source="bad", config={"method": {"type": "bapo", "v": 0}}, attempts=1)
    with refuses(422, field="method.v"):
        admin.create_import(body)
    with pytest.raises(ApiError, match="remove it"):
        admin.create_import(body.model_copy(update={"config": {"no.such": 1}}))


def test_only_imports_take_files(admin: Client, run: RunDetail) -> None:
    with refuses(409, "not_an_import"):
        admin.import_records(run.id, batch([], token=1))
    with pytest.raises(ApiError):
        admin.finish_import(run.id)


def test_an_imported_run_can_be_cloned_and_deleted(admin: Client) -> None:
    info = begin(admin, "clone")
    send(admin, info, [step(1), event("finished", 1)])
    run = admin.finish_import(info.run_id)
    assert set(run.allowed_actions) == {"clone", "delete"}
    admin.delete_run(run.id, permanently=True)
