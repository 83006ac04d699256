"""Responses kept as text: filtered, searched within bounds, stepped through."""

from __future__ import annotations

from typing import Any

import pytest

from backend.readings.samples import service
from bapo.api.runs import RunDetail
from bapo.client import Client
from bapo.records import SampledResponse, SampleRecord
from bapo.rollout import BatchSource
from tests.support.fake_worker import FakeWorker
from tests.support.journals import sample, step


def group(number: int, prompt_id: str, source: BatchSource, correct: int, text: str) -> SampleRecord:
    responses = [SampledResponse(text=text, reward=int(k < correct), num_tokens=6, logprob_sum=-1.0) for k in range(4)]
    return sample(number, prompt_id).model_copy(
        update={"source": source, "num_correct": correct, "group_size": 4, "responses": responses}
    )


@pytest.fixture
def recorded(worker: FakeWorker, run: RunDetail) -> str:
    """Groups of steps 1, 3 and 4."""
    claim = worker.begin(run)
    worker.upload(claim, [step(number) for number in range(1, 6)])
    groups = [
        group(1, "a", BatchSource.FRESH, 0, "3+3"),
        group(1, "b", BatchSource.FRESH, 2, "Answer: 3+4 = 7 % _ \\ \u0130"),
        group(3, "a", BatchSource.REEVALUATED, 1, "3*4 \u00e4pfel"),
        group(4, "b", BatchSource.REUSED, 2, "answer: 4+3"),
        group(4, "a", BatchSource.FRESH, 4, "7"),
    ]
    worker.upload(claim, groups, "samples")
    return run.id


def found(client: Client, run_id: str, **filters: Any) -> list[tuple[int, str]]:
    return [(item["step"], item["prompt_id"]) for item in client.samples(run_id, **filters).items]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [(4, "a"), (4, "b"), (3, "a"), (1, "b"), (1, "a")]),
        ({"step": 4}, [(4, "a"), (4, "b")]),
        ({"step": 2}, []),
        ({"from_step": 2, "to_step": 3}, [(3, "a")]),
        ({"prompt_id": "b"}, [(4, "b"), (1, "b")]),
        ({"source": BatchSource.FRESH}, [(4, "a"), (1, "b"), (1, "a")]),
        ({"min_correct": 2}, [(4, "a"), (4, "b"), (1, "b")]),
        ({"min_correct": 1, "max_correct": 1}, [(3, "a")]),
        ({"search": "answer"}, [(4, "b"), (1, "b")]),
        ({"search": "ANSWER", "source": BatchSource.REUSED}, [(4, "b")]),
        # The prompt of all says "3 4=7"; what means something to a pattern language means itself.
        ({"search": "3 4=7"}, [(4, "a"), (4, "b"), (3, "a"), (1, "b"), (1, "a")]),
        ({"search": "% _ \\"}, [(1, "b")]),
        ({"search": "\u00c4PFEL"}, [(3, "a")]),
        ({"search": "nothing says this"}, []),
    ],
)
def test_a_filter_finds_what_it_says(
    admin: Client, recorded: str, filters: dict[str, Any], expected: list[tuple[int, str]]
) -> None:
    assert found(admin, recorded, **filters) == expected
    assert admin.samples(recorded, **filters).total == len(expected)


@pytest.mark.parametrize("search", [None, "3"])
def test_pages_join_to_the_whole(admin: Client, recorded: str, search: str | None) -> None:
    pages: list[tuple[int, str]] = []
    cursor = None
    while True:
        page = admin.samples(recorded, cursor=cursor, limit=2, search=search)
        pages += [(item["step"], item["prompt_id"]) for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert pages == found(admin, recorded, search=search)


def test_a_search_goes_on_where_its_bound_stopped_it(
    admin: Client, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "SEARCHED_GROUPS", 2)
    first = admin.samples(recorded, search="3*4")
    # The two newest groups do not say it; the third does.
    assert (first.items, first.num_searched, first.total) == ([], 2, None)
    second = admin.samples(recorded, search="3*4", cursor=first.next_cursor)
    assert ([item["step"] for item in second.items], second.num_searched) == ([3], 2)
    last = admin.samples(recorded, search="3*4", cursor=second.next_cursor)
    assert (last.items, last.num_searched, last.next_cursor) == ([], 1, None)


def test_a_search_is_bounded_by_what_it_reads_too(
    admin: Client, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "SEARCHED_BYTES", 1)
    page = admin.samples(recorded, search="3")
    # One group at least, however large.
    assert (len(page.items), page.num_searched) == (1, 1)
    assert page.next_cursor is not None


def test_steps_with_groups_can_be_walked(admin: Client, recorded: str) -> None:
    def around(**filters: Any) -> tuple[int | None, ...]:
        page = admin.samples(recorded, limit=1, **filters)
        return page.first_step, page.newest_step, page.previous_step, page.next_step

    assert around() == (1, 4, 3, None)
    assert around(step=3) == (1, 4, 1, 4)
    assert around(step=2) == (1, 4, 1, 3)
    assert around(step=1) == (1, 4, None, 3)
    assert around(step=4, source=BatchSource.FRESH) == (1, 4, 1, None)
    assert around(prompt_id="nowhere") == (None, None, None, None)


def test_a_run_without_samples_says_so(admin: Client, run: RunDetail) -> None:
    page = admin.samples(run.id)
    assert (page.items, page.total, page.newest_step) == ([], 0, None)
    assert admin.samples(run.id, search="3").total == 0
