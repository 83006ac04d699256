"""One thing done to several runs: each is asked for itself."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from backend.kit.database import Database, seconds_from_now
from backend.kit.idempotency import KEPT_SECONDS, prune
from backend.models import IdempotentRequest
from bapo.api.runs import BulkRequest, Matching, RunCreate, RunDetail, RunFilters, RunStatus
from bapo.client import ApiError, Client
from tests.support.refusals import refuses
from tests.support.services import BackendServer


def draft(client: Client, name: str = "bulk") -> RunDetail:
    return client.create_run(RunCreate(name=name, recipe="countdown-demo", start=False))


def ask(client: Client, action: str, *run_ids: str, tag: str | None = None) -> dict[str, str | None]:
    """The code of each refusal, None for what was done."""
    answer = client.bulk(BulkRequest.model_validate({"run_ids": run_ids, "action": action, "tag": tag}))
    assert answer.num_done == sum(result.done for result in answer.results)
    assert [result.run_id for result in answer.results] == list(dict.fromkeys(run_ids))
    assert all((result.reason is None) == result.done for result in answer.results)
    return {result.run_id: result.code for result in answer.results}


def test_what_is_refused_does_not_hold_up_the_others(admin: Client) -> None:
    queued = admin.create_run(RunCreate(name="bulk", recipe="countdown-demo"))
    one, other = draft(admin), draft(admin)
    codes = ask(admin, "delete", one.id, queued.id, "nothing", other.id)
    assert codes == {one.id: None, queued.id: "illegal_transition", "nothing": "not_found", other.id: None}
    with pytest.raises(ApiError):
        admin.run(one.id)
    assert ask(admin, "stop", queued.id) == {queued.id: None}
    assert admin.run(queued.id).status is RunStatus.CANCELLED


def test_only_owners_and_administrators_change_runs_and_everybody_stars(admin: Client, member: Client) -> None:
    foreign, own = draft(admin), draft(member)
    for action, tag in (("archive", None), ("tag", "x"), ("start", None)):
        assert ask(member, action, foreign.id, own.id, tag=tag)[foreign.id] == "not_your_run"
    assert admin.run(foreign.id).tags == []
    assert ask(member, "star", foreign.id, own.id) == {foreign.id: None, own.id: None}
    assert member.run(foreign.id).is_starred
    assert not admin.run(foreign.id).is_starred
    assert ask(admin, "archive", own.id) == {own.id: "illegal_transition"}


def test_tags_are_added_once_and_taken_away(admin: Client) -> None:
    one, other = draft(admin), draft(admin)
    ask(admin, "tag", one.id, tag="  new ")
    ask(admin, "tag", one.id, other.id, tag="new")
    assert (admin.run(one.id).tags, admin.run(other.id).tags) == (["new"], ["new"])
    ask(admin, "untag", one.id, other.id, tag="new")
    assert (admin.run(one.id).tags, admin.run(other.id).tags) == ([], [])
    full = admin.create_run(RunCreate(name="full", tags=[f"t{i}" for i in range(50)], start=False))
    assert ask(admin, "tag", full.id, tag="one more") == {full.id: "too_many_tags"}
    assert ask(admin, "tag", full.id, tag="t0") == {full.id: None}


def test_archive_and_back_again(admin: Client) -> None:
    run = draft(admin)
    assert ask(admin, "archive", run.id, run.id) == {run.id: None}
    assert admin.run(run.id).archived_at is not None
    assert ask(admin, "unarchive", run.id) == {run.id: None}
    assert admin.run(run.id).archived_at is None


def test_all_that_match_a_filter_are_changed_if_they_are_as_many_as_agreed(admin: Client, member: Client) -> None:
    runs = [draft(client, "matching all") for client in (admin, admin, member)]
    filters = RunFilters(search="matching all", where=["status = draft"])
    body = BulkRequest(matching=Matching(filters=filters, expected=2), action="tag", tag="all")
    with refuses(409, "other_number", field="matching.expected"):
        admin.bulk(body)
    assert admin.runs(tag="all").total == 0
    agreed = BulkRequest(matching=Matching(filters=filters, expected=3), action="tag", tag="all")
    # What a member may not change is refused run by run.
    assert member.bulk(agreed).num_done == 1
    answer = admin.bulk(agreed)
    assert (answer.num_done, {result.run_id for result in answer.results}) == (3, {run.id for run in runs})


def test_a_key_is_valid_for_a_week(admin: Client, database: Database) -> None:
    star = BulkRequest(run_ids=[draft(admin).id], action="star")
    ages = {"younger": KEPT_SECONDS - 60, "older": KEPT_SECONDS + 60}
    keys = IdempotentRequest.key.in_(ages)
    for key in ages:
        admin.bulk(star, idempotency_key=key)
    with database.session() as session, session.begin():
        for key, age in ages.items():
            written = update(IdempotentRequest).where(IdempotentRequest.key == key)
            session.execute(written.values(created_at=seconds_from_now(-age)))
        prune(session)
        assert session.scalars(select(IdempotentRequest.key).where(keys)).all() == ["younger"]


@pytest.mark.parametrize(
    "body",
    [
        {"action": "star"},
        {"run_ids": ["x"], "matching": {"filters": {}, "expected": 1}, "action": "star"},
        {"run_ids": [], "action": "star"},
        {"run_ids": ["x"] * 501, "action": "star"},
        {"run_ids": ["x"], "action": "tag"},
        {"run_ids": ["x"], "action": "star", "tag": "x"},
        {"run_ids": ["x"], "action": "rename"},
    ],
)
def test_a_request_that_says_too_little_or_too_much_is_refused(backend_server: BackendServer, body: object) -> None:
    with backend_server.http() as http:
        headers = {"Authorization": f"Bearer {backend_server.admin_token}"}
        answer = http.post("/api/v1/runs/bulk", json=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
