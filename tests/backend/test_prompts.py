"""Training prompts over REST: found by what became of them, one with all that is stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from backend.readings.prompts.service import BEGINNING_LETTERS, SPARKLINE_VISITS
from bapo.api.prompts import PromptFilter, PromptSummary, Story
from bapo.api.runs import RunDetail
from bapo.client import Client
from bapo.records import PromptRecord, PromptVisit, StepRecord, TrackingRecord
from bapo.rollout import BatchSource
from bapo.run.journal import merged_records
from tests.support.fake_worker import FakeWorker
from tests.support.journals import sample, step, tracking
from tests.support.recorded import import_folder
from tests.support.refusals import refuses

FRESH, REEVALUATED, REUSED = BatchSource.FRESH, BatchSource.REEVALUATED, BatchSource.REUSED

VISITS: Mapping[int, tuple[PromptVisit, ...]] = {
    1: (
        PromptVisit("hard", FRESH, 0, 0, in_batch=False, reason="all_wrong"),
        PromptVisit("easy", FRESH, 8, 0, in_batch=False, reason="all_correct"),
        PromptVisit("once", FRESH, 3, 0, in_batch=True),
    ),
    2: (
        PromptVisit("unlocked", FRESH, 0, 0, in_batch=False, reason="all_wrong"),
        PromptVisit("once/reused", FRESH, 2, 0, in_batch=True),
    ),
    3: (
        PromptVisit("hard", REEVALUATED, 0, 2, in_batch=False, reason="still_difficult"),
        PromptVisit("unlocked", REEVALUATED, 5, 2, in_batch=True),
        PromptVisit("once/reused", REUSED, 2, 0, in_batch=True),
    ),
    4: (
        PromptVisit("hard", FRESH, 0, 2, in_batch=False, reason="all_wrong"),
        PromptVisit("easy", FRESH, 8, 2, in_batch=False, reason="all_correct"),
        PromptVisit("unlocked", FRESH, 1, 2, in_batch=True),
    ),
}
"""Five prompts in four steps of groups of 8."""


@pytest.fixture
def recorded(worker: FakeWorker, run: RunDetail) -> str:
    """A run that met the five prompts."""
    claim = worker.begin(run)
    worker.upload(claim, [step(number).model_copy(update={"prompts": list(VISITS[number])}) for number in VISITS])
    return run.id


def found(client: Client, run_id: str, **wanted: Any) -> list[str]:
    return [item.prompt_id for item in client.prompts(run_id, wanted=PromptFilter(**wanted)).items]


def test_a_prompt_is_summed_up(admin: Client, recorded: str) -> None:
    page = admin.prompts(recorded)
    assert [item.prompt_id for item in page.items] == ["hard", "easy", "once", "unlocked", "once/reused"]
    assert page.items[3] == PromptSummary(
        prompt_id="unlocked",
        text=None,
        num_visits=3,
        num_evaluations=3,
        first_correct=0,
        last_correct=1,
        group_size=8,
        first_accuracy=0.0,
        last_accuracy=0.125,
        gain=0.125,
        variance=page.items[3].variance,
        first_step=2,
        last_step=4,
        stories=[Story.UNLOCKED],
        steps=[2, 3, 4],
        num_correct=[0, 5, 1],
        sources=[FRESH, REEVALUATED, FRESH],
    )
    # 0, 5 and 1 of 8: (0 + 25 + 1)/3 - 2² = 14/3, over 64.
    assert page.items[3].variance == pytest.approx(14 / 3 / 64)
    assert page.items[4].num_evaluations == 1
    totals = page.totals
    # 3 + 2 + 1 + 3 + 2 visits, one of them a reuse; only "hard" was never solved.
    assert (totals.num_prompts, totals.num_visits, totals.num_evaluations, totals.num_never_solved) == (5, 11, 10, 1)
    # First 0, 8, 3, 0, 2 and last 0, 8, 3, 1, 2 of 8.
    assert (totals.first_accuracy, totals.last_accuracy, totals.last_step) == (13 / 40, 14 / 40, 4)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"story": "unlocked"}, ["unlocked"]),
        ({"story": "solved_later"}, []),
        ({"story": "stuck"}, ["hard"]),
        ({"story": "mastered"}, ["easy"]),
        ({"story": "forgotten"}, []),
        # In the first half of four steps; "once/reused" was visited twice.
        ({"story": "never_seen_again"}, ["once"]),
        ({"source": REUSED}, ["once/reused"]),
        ({"source": REEVALUATED}, ["hard", "unlocked"]),
        ({"source": REEVALUATED, "story": "stuck"}, ["hard"]),
        ({"min_last": 2}, ["easy", "once", "once/reused"]),
        ({"min_last": 3, "max_last": 7}, ["once"]),
        ({"max_first": 0}, ["hard", "unlocked"]),
        ({"min_first": 1, "max_first": 2}, ["once/reused"]),
        ({"search": "ONCE"}, ["once", "once/reused"]),
        ({"search": "nowhere"}, []),
        ({"sort": "last_step", "descending": True}, ["hard", "easy", "unlocked", "once/reused", "once"]),
        ({"sort": "visits"}, ["once", "easy", "once/reused", "hard", "unlocked"]),
        ({"sort": "gain", "descending": True}, ["unlocked", "hard", "easy", "once", "once/reused"]),
        ({"sort": "last_accuracy"}, ["hard", "unlocked", "once/reused", "once", "easy"]),
        ({"sort": "first_accuracy", "descending": True}, ["easy", "once", "once/reused", "hard", "unlocked"]),
        ({"sort": "variance", "descending": True}, ["unlocked", "hard", "easy", "once", "once/reused"]),
    ],
)
def test_a_filter_finds_what_it_says(
    admin: Client, recorded: str, wanted: Mapping[str, Any], expected: list[str]
) -> None:
    assert found(admin, recorded, **wanted) == expected


def test_the_stories_are_counted_within_the_rest_of_the_filter(admin: Client, recorded: str) -> None:
    everything = admin.prompts(recorded)
    assert {story: count for story, count in everything.stories.items() if count} == {
        Story.UNLOCKED: 1,
        Story.STUCK: 1,
        Story.MASTERED: 1,
        Story.NEVER_SEEN_AGAIN: 1,
    }
    chosen = admin.prompts(recorded, wanted=PromptFilter(story=Story.STUCK, source=REEVALUATED))
    assert (chosen.total, chosen.stories[Story.UNLOCKED], chosen.stories[Story.MASTERED]) == (1, 1, 0)
    assert chosen.totals == everything.totals


@pytest.mark.parametrize("order", ["first_step", "last_step", "last_accuracy", "gain", "visits", "variance"])
@pytest.mark.parametrize("descending", [False, True])
def test_pages_join_to_the_whole_list(admin: Client, recorded: str, order: Any, descending: bool) -> None:
    wanted = PromptFilter(sort=order, descending=descending)
    whole = [item.prompt_id for item in admin.prompts(recorded, wanted=wanted).items]
    pages: list[str] = []
    cursor = None
    while True:
        page = admin.prompts(recorded, cursor=cursor, limit=2, wanted=wanted)
        assert page.total == 5
        pages += [item.prompt_id for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert pages == whole
    assert [item.prompt_id for item in admin.prompts(recorded, offset=3, limit=2, wanted=wanted).items] == whole[3:]


def test_a_cursor_of_another_order_is_refused(admin: Client, recorded: str) -> None:
    cursor = admin.prompts(recorded, limit=1).next_cursor
    with refuses(422, field="cursor"):
        admin.prompts(recorded, cursor=cursor, wanted=PromptFilter(sort="gain"))


def test_a_story_that_is_none_is_refused(admin: Client, recorded: str) -> None:
    answer = admin.http.get(f"/runs/{recorded}/prompts", params={"story": "happy"})
    assert (answer.status_code, answer.json()["field"], answer.json()["value"]) == (422, "story", "happy")
    assert "'stuck'" in answer.json()["remedy"]


def test_a_prompt_shows_each_visit(admin: Client, recorded: str) -> None:
    prompt = admin.prompt(recorded, "unlocked")
    visits = prompt.visits
    assert (visits.step, visits.source, visits.num_correct) == ([2, 3, 4], [FRESH, REEVALUATED, FRESH], [0, 5, 1])
    # Step - 1 - version: the re-evaluation is by the current policy, the last rollout by one a step old.
    assert (visits.policy_version, visits.staleness) == ([0, 2, 2], [1, 0, 1])
    assert (visits.in_batch, visits.reason) == ([False, True, True], ["all_wrong", None, None])
    assert (prompt.text, prompt.answer, prompt.trackings.step) == (None, None, [])
    assert admin.prompt(recorded, "once/reused").num_visits == 2


def test_a_prompt_knows_its_neighbours_in_a_list(admin: Client, recorded: str) -> None:
    def beside(prompt_id: str, **wanted: Any) -> tuple[object, ...]:
        neighbours = admin.prompt(recorded, prompt_id, PromptFilter(**wanted)).neighbours
        return neighbours.position, neighbours.total, neighbours.previous_id, neighbours.next_id

    assert beside("hard") == (1, 5, None, "easy")
    assert beside("once/reused") == (5, 5, "unlocked", None)
    assert beside("unlocked", max_first=0) == (2, 2, "hard", None)
    assert beside("easy", max_first=0) == (None, 2, None, None)


def test_a_prompt_that_the_run_never_met_is_not_found(admin: Client, recorded: str) -> None:
    with refuses(404):
        admin.prompt(recorded, "unknown/prompt")


def test_a_stored_group_tells_what_the_prompt_says(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [step(1), step(2)])
    long = "Combine 3 and 4. " + "ü" * 1000
    worker.upload(claim, [sample(1, "shared").model_copy(update={"prompt": long})], "samples")
    p1, shared, p2 = admin.prompts(run.id).items
    assert (p1.text, shared.text, p2.text) == (None, long[:BEGINNING_LETTERS], None)
    assert [item.prompt_id for item in admin.prompts(run.id, search="combine 3 AND").items] == ["shared"]
    prompt = admin.prompt(run.id, "shared")
    assert (prompt.text, prompt.answer) == (long, {"nums": [3, 4], "target": 7})
    # So does a line of its own, where no response of the prompt was kept.
    worker.upload(claim, [PromptRecord(prompt_id="p1", prompt="1,2=3", answer={"target": 3})], "samples")
    assert [item.text for item in admin.prompts(run.id).items] == ["1,2=3", long[:BEGINNING_LETTERS], None]
    assert admin.samples(run.id).total == 1


def test_a_tracked_prompt_shows_its_samplings(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    met = step(1).model_copy(update={"prompts": [PromptVisit("b", FRESH, 3, 0, in_batch=True)]})
    worker.upload(claim, [tracking(0), tracking(0, replicate=1), met, tracking(1)])
    trackings = admin.prompt(run.id, "b").trackings
    assert (trackings.step, trackings.replicate) == ([0, 0, 1], [0, 1, 0])
    assert (trackings.num_correct, trackings.group_size) == ([2, 2, 2], [8, 8, 8])


def test_a_prompt_of_very_many_visits_shows_some_of_them(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [step(number) for number in range(1, SPARKLINE_VISITS + 51)])
    shared = admin.prompts(run.id, search="shared").items[0]
    assert (shared.num_visits, len(shared.steps)) == (SPARKLINE_VISITS + 50, SPARKLINE_VISITS)
    assert (shared.steps[0], shared.steps[-1]) == (1, SPARKLINE_VISITS + 50)
    assert len(admin.prompt(run.id, "shared").visits.step) == SPARKLINE_VISITS + 50


def test_later_steps_are_seen_at_once(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [step(1)])
    assert admin.prompts(run.id).totals.last_step == 1
    worker.upload(claim, [step(2)])
    assert [item.prompt_id for item in admin.prompts(run.id).items] == ["p1", "shared", "p2"]


def test_a_run_that_has_not_trained_has_no_prompts(admin: Client, run: RunDetail) -> None:
    page = admin.prompts(run.id)
    assert (page.items, page.total, page.totals.first_accuracy, page.totals.last_step) == ([], 0, None, 0)


def test_a_recorded_run_reads_as_its_journal(admin: Client, recorded_folders: Mapping[str, Path]) -> None:
    folder = recorded_folders["bapo-seed-1"]
    run_id = import_folder(admin, folder)
    records = merged_records(folder)
    steps = [record for record in records if isinstance(record, StepRecord)]
    page = admin.prompts(run_id, limit=1000)
    ids = {visit.prompt_id for record in steps for visit in record.prompts}
    assert page.total == len(ids)
    assert page.totals.num_visits == sum(len(record.prompts) for record in steps)
    busiest = admin.prompts(run_id, limit=1, wanted=PromptFilter(sort="visits", descending=True)).items[0].prompt_id
    visits = admin.prompt(run_id, busiest).visits
    assert list(zip(visits.step, visits.source, visits.num_correct, visits.reason, strict=True)) == [
        (record.step, visit.source, visit.num_correct, visit.reason)
        for record in steps
        for visit in record.prompts
        if visit.prompt_id == busiest
    ]
    tracked = [record for record in records if isinstance(record, TrackingRecord)]
    met = next(prompt_id for prompt_id in tracked[0].prompt_ids if prompt_id in ids)
    assert admin.prompt(run_id, met).trackings.num_correct == [
        record.num_correct[list(record.prompt_ids).index(met)] for record in tracked
    ]
