"""Answers are kept while nothing new is stored, and only then."""

from __future__ import annotations

import pytest

from backend.kit.database import Database
from backend.kit.errors import Problem, not_found
from backend.kit.response_cache import Answer, AnswerCache
from bapo.client import Client
from tests.backend.journals import batch, lines_of, sample, step
from tests.backend.test_imports import begin, send


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
