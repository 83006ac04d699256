"""Visits of a run: read once, completed when steps arrive, mended when an attempt repeats steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy.orm import Session

from backend.kit.database import Database
from backend.readings.visits import repository
from backend.readings.visits.cache import VisitCache
from bapo.analysis.visits import Visits, visits_of
from bapo.api.imports import ImportCreate, ImportInfo
from bapo.client import Client
from bapo.config import RunConfig
from bapo.records import AnyRecord, PromptVisit, StepRecord
from bapo.rollout import BatchSource
from tests.support.journals import batch, evaluation, lines_of, step

CONFIG = RunConfig().model_dump(mode="json")


class Journal:
    """A run that is imported bit by bit, and what a server's cache makes of it."""

    def __init__(self, client: Client, source: str) -> None:
        self.client = client
        self.source = source
        self.info = self._begin(1)
        self.offsets = {1: 0}

    def _begin(self, attempts: int) -> ImportInfo:
        return self.client.create_import(
            ImportCreate(name=self.source, source=self.source, config=CONFIG, attempts=attempts)
        )

    def send(self, records: Sequence[AnyRecord], attempt: int = 1) -> None:
        if attempt not in self.offsets:
            self.info = self._begin(attempt)
            self.offsets[attempt] = 0
        body = batch(lines_of(records), token=self.info.fencing_token, start=self.offsets[attempt], attempt=attempt)
        self.offsets[attempt] = self.client.import_records(self.info.run_id, body).next_offset


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    with database.session() as session:
        yield session


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, database: Database) -> list[int]:
    """The steps from which on rows were read on this test's connections: the server also reads, in the background."""
    first_steps: list[int] = []
    read = repository.visits_from

    def watched(session: Session, run_id: str, step: int) -> Iterator[Sequence[repository.StepVisits]]:
        if session.get_bind() is database.engine:
            first_steps.append(step)
        return read(session, run_id, step)

    monkeypatch.setattr(repository, "visits_from", watched)
    return first_steps


def visited(number: int, prompt_id: str, num_correct: int, attempt: int = 1) -> StepRecord:
    visits = [
        PromptVisit(prompt_id, BatchSource.FRESH, num_correct, number - 1, in_batch=True),
        PromptVisit("again", BatchSource.REEVALUATED, 0, number - 1, in_batch=False, reason="still_difficult"),
    ]
    return step(number, attempt=attempt).model_copy(update={"prompts": visits})


def assert_equal(found: Visits, expected: Visits) -> None:
    assert list(found.prompt_ids) == list(expected.prompt_ids)
    assert found.group_size == expected.group_size
    columns: Any = zip(Visits._fields[2:], found[2:], expected[2:], strict=True)
    for column, array, wanted in columns:
        assert array.dtype == wanted.dtype, column
        assert array.tolist() == wanted.tolist(), column


def test_the_columns_are_those_of_the_records(admin: Client, session: Session) -> None:
    journal = Journal(admin, "columns")
    records = [step(1), visited(2, "a", 5), visited(3, "p1", 8)]
    journal.send(records)
    assert_equal(VisitCache().visits(session, journal.info.run_id, 8), visits_of(records, 8))


def test_a_run_without_steps_has_no_visits(admin: Client, session: Session) -> None:
    journal = Journal(admin, "empty")
    visits = VisitCache().visits(session, journal.info.run_id, 8)
    assert (list(visits.prompt_ids), visits.step.tolist(), visits.group_size) == ([], [], 8)


def test_only_new_steps_are_read(admin: Client, session: Session, reads: list[int]) -> None:
    journal = Journal(admin, "growing")
    cache = VisitCache()
    records = [visited(number, f"p{number}", number % 9) for number in range(1, 6)]
    journal.send(records[:3])
    first = cache.visits(session, journal.info.run_id, 8)
    assert cache.visits(session, journal.info.run_id, 8) is first
    assert reads == [1]
    journal.send(records[3:])
    assert_equal(cache.visits(session, journal.info.run_id, 8), visits_of(records, 8))
    assert reads == [1, 4]
    # What an earlier request holds stays what it was.
    assert_equal(first, visits_of(records[:3], 8))


def test_records_of_other_kinds_read_no_step(admin: Client, session: Session, reads: list[int]) -> None:
    journal = Journal(admin, "evaluated")
    cache = VisitCache()
    journal.send([step(1)])
    cache.visits(session, journal.info.run_id, 8)
    journal.send([evaluation(1, 0.5)])
    assert len(cache.visits(session, journal.info.run_id, 8).step) == 2
    assert reads == [1]


def test_steps_that_a_later_attempt_repeats_replace_those_of_the_earlier(
    admin: Client, session: Session, reads: list[int]
) -> None:
    journal = Journal(admin, "resumed")
    cache = VisitCache()
    first = [visited(number, f"p{number}", 1) for number in range(1, 5)]
    journal.send(first)
    cache.visits(session, journal.info.run_id, 8)
    # Attempt 2 went on from a checkpoint after step 2 and drew other prompts; step 4 of attempt 1 is still there.
    third = visited(3, "q3", 2, attempt=2)
    journal.send([third], attempt=2)
    assert_equal(cache.visits(session, journal.info.run_id, 8), visits_of([*first[:2], third, first[3]], 8))
    assert reads == [1, 3]
    later = [visited(number, f"q{number}", 2, attempt=2) for number in (4, 5)]
    journal.send(later, attempt=2)
    assert_equal(cache.visits(session, journal.info.run_id, 8), visits_of([*first[:2], third, *later], 8))
    assert reads == [1, 3, 4]


def test_nobody_writes_into_what_all_read(admin: Client, session: Session) -> None:
    journal = Journal(admin, "shared")
    journal.send([step(1)])
    visits = VisitCache().visits(session, journal.info.run_id, 8)
    with pytest.raises(ValueError, match="read-only"):
        visits.num_correct[0] = 1


def test_the_run_not_asked_for_longest_is_forgotten(admin: Client, session: Session, reads: list[int]) -> None:
    journals = [Journal(admin, f"bounded-{number}") for number in range(3)]
    for journal in journals:
        journal.send([step(1)])
    first, second, third = (journal.info.run_id for journal in journals)
    # A run with one step and two prompts counts as 2048 + 128 + 2·128 + 2·16 = 2464 bytes: room for two.
    cache = VisitCache(max_bytes=2 * 2464)
    for run_id in (first, second, first, third):
        cache.visits(session, run_id, 8)
    assert reads == [1, 1, 1]
    cache.visits(session, first, 8)
    assert len(reads) == 3
    cache.visits(session, second, 8)
    assert len(reads) == 4


def test_requests_at_once_share_one_reading(admin: Client, database: Database, reads: list[int]) -> None:
    journal = Journal(admin, "at-once")
    journal.send([step(number) for number in range(1, 11)])
    cache = VisitCache()

    def read(_: int) -> Visits:
        with database.session() as session:
            return cache.visits(session, journal.info.run_id, 8)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(read, range(8)))
    assert reads == [1]
    assert all(visits is found[0] for visits in found)
