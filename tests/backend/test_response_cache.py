"""Answers are kept while nothing new is stored, and only then."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import delete

from backend.kit.database import Database
from backend.kit.errors import Problem, not_found
from backend.kit.response_cache import Answer, AnswerCache
from backend.models import Run
from bapo.api.accounts import TokenCreate
from bapo.client import Client
from tests.support.imports import begin, send
from tests.support.journals import batch, lines_of, sample, step
from tests.support.services import BackendServer


class Question:
    """Counts how often it is worked out."""

    def __init__(self, content: bytes = b"{}") -> None:
        self.content = content
        self.num_worked_out = 0

    def work_out(self) -> Answer:
        self.num_worked_out += 1
        return Answer(self.content)


def test_an_answer_is_worked_out_anew_when_more_is_stored(admin: Client, database: Database) -> None:
    info = begin(admin, "answers")
    offset = send(admin, info, [step(1)])
    cache, question = AnswerCache(), Question()
    with database.session() as session:
        for _ in range(3):
            assert cache.answer(session, "/metrics?keys=a", [info.run_id], question.work_out).content == b"{}"
        assert question.num_worked_out == 1
        cache.answer(session, "/metrics?keys=b", [info.run_id], question.work_out)
        assert question.num_worked_out == 2
    send(admin, info, [step(2)], start=offset)
    with database.session() as session:
        cache.answer(session, "/metrics?keys=a", [info.run_id], question.work_out)
    assert question.num_worked_out == 3


def test_a_run_without_records_is_asked_about_every_time(admin: Client, database: Database) -> None:
    info = begin(admin, "answers, nothing yet")
    cache, question = AnswerCache(), Question()
    with database.session() as session:
        cache.answer(session, "/q", [info.run_id], question.work_out)
        cache.answer(session, "/q", [info.run_id], question.work_out)
    assert question.num_worked_out == 2


def test_a_refusal_is_not_kept(database: Database) -> None:
    def refuse() -> Answer:
        raise not_found("run", "nowhere")

    with database.session() as session, pytest.raises(Problem):
        AnswerCache().answer(session, "/q", ["nowhere"], refuse)


def test_the_answer_asked_for_longest_ago_is_forgotten_first(admin: Client, database: Database) -> None:
    info = begin(admin, "answers, many")
    send(admin, info, [step(1)])
    # Two answers of 400 bytes and what goes with them fit into 2,000; three do not.
    cache, question = AnswerCache(max_bytes=2_000), Question(b"x" * 400)
    with database.session() as session:
        for name in ("a", "b", "a", "c"):
            cache.answer(session, name, [info.run_id], question.work_out)
        assert question.num_worked_out == 3
        cache.answer(session, "a", [info.run_id], question.work_out)
        assert question.num_worked_out == 3
        cache.answer(session, "b", [info.run_id], question.work_out)
        assert question.num_worked_out == 4


def test_responses_and_log_lines_leave_answers_as_they_are(admin: Client, database: Database) -> None:
    info = begin(admin, "answers, responses")
    send(admin, info, [step(1)])
    cache, question = AnswerCache(), Question()
    with database.session() as session:
        cache.answer(session, "/q", [info.run_id], question.work_out)
    admin.import_records(info.run_id, batch(lines_of([sample(1)]), token=info.fencing_token, kind="samples"))
    admin.import_records(info.run_id, batch(["step 1"], token=info.fencing_token, kind="log"))
    with database.session() as session:
        cache.answer(session, "/q", [info.run_id], question.work_out)
    assert question.num_worked_out == 1


def test_what_is_asked_again_comes_without_a_route_until_more_is_stored(admin: Client) -> None:
    info = begin(admin, "answers, asked again")
    offset = send(admin, info, [step(1)])
    path = f"/runs/{info.run_id}/metrics"

    def ask(known: str | None = None) -> httpx.Response:
        headers = {} if known is None else {"If-None-Match": known}
        return admin.http.get(path, params={"keys": "training/global_step"}, headers=headers)

    first, again = ask(), ask()
    assert first.json() == again.json() == {"steps": [1], "columns": {"training/global_step": [1.0]}}
    etag = first.headers["etag"]
    assert (again.headers["etag"], again.headers["x-sampled"]) == (etag, "no")
    assert again.headers["cache-control"] == "private, no-cache"
    same = ask(etag)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    send(admin, info, [step(2)], start=offset)
    more = ask(etag)
    assert (more.status_code, more.json()["steps"]) == (200, [1, 2])
    assert more.headers["etag"] != etag


def test_what_is_kept_is_for_those_who_may_see_the_run(
    admin: Client, member: Client, outsider: Client, backend_server: BackendServer
) -> None:
    info = begin(admin, "answers, of others")
    send(admin, info, [step(1)])
    path = f"/runs/{info.run_id}/metrics?keys=actor/entropy"
    for client, status in ((admin, 200), (admin, 200), (member, 200), (member, 200), (outsider, 404), (outsider, 404)):
        assert client.http.get(path).status_code == status
    token = admin.create_token(TokenCreate(name="soon gone"))
    with backend_server.client(token.secret) as client:
        assert client.http.get(path).status_code == 200
        admin.revoke_token(token.id)
        assert client.http.get(path).status_code == 401


def test_answers_of_a_deleted_run_are_gone(admin: Client, database: Database) -> None:
    info = begin(admin, "answers, deleted")
    send(admin, info, [step(1)])
    path = f"/runs/{info.run_id}/metrics?keys=actor/entropy"
    assert [admin.http.get(path).status_code for _ in range(2)] == [200, 200]
    with database.session() as session, session.begin():
        session.execute(delete(Run).where(Run.id == info.run_id))
    assert admin.http.get(path).status_code == 404
