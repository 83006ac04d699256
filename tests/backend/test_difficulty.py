"""Migration matrices and flows over REST."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from bapo.api.difficulty import Flows, Migration, MigrationKind
from bapo.api.imports import ImportCreate
from bapo.client import ApiError, Client
from bapo.client.call import get, run_path
from bapo.config import RunConfig
from bapo.records import AnyRecord, StepRecord, TrackingRecord
from bapo.rollout import BatchSource
from bapo.run.journal import merged_records
from tests.support.journals import batch, lines_of, step
from tests.support.recorded import NUM_STEPS, import_folder
from tests.support.refusals import refuses

CONFIG = RunConfig().model_dump(mode="json")
GROUP_SIZE = 8
NOT_SEEN = GROUP_SIZE + 1
"""Row and column of the prompts that one side has not seen."""


class Recorded:
    """A run of the local engine that was imported, and its journal."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.id = import_folder(client, folder)
        self.records: Sequence[AnyRecord] = list(merged_records(folder))

    def tracked(self, step: int, replicate: int = 0) -> dict[str, int]:
        """Correct responses by prompt."""
        (record,) = (
            record
            for record in self.records
            if isinstance(record, TrackingRecord) and (record.step, record.replicate) == (step, replicate)
        )
        return dict(zip(record.prompt_ids, record.num_correct, strict=True))

    def last_seen(self, step: int) -> dict[str, int]:
        """Correct responses at each prompt's last evaluation up to the step."""
        steps = sorted(
            (record for record in self.records if isinstance(record, StepRecord) and record.step <= step),
            key=lambda record: record.step,
        )
        return {
            visit.prompt_id: visit.num_correct
            for record in steps
            for visit in record.prompts
            if visit.source is not BatchSource.REUSED
        }


@pytest.fixture(scope="module")
def recorded(admin: Client, recorded_folders: Mapping[str, Path]) -> Recorded:
    return Recorded(admin, recorded_folders["bapo-seed-1"])


@pytest.fixture
def unborn(admin: Client) -> Iterator[str]:
    """A run that has recorded nothing."""
    info = admin.create_import(ImportCreate(name="unborn", source="unborn", config=CONFIG, attempts=1))
    admin.finish_import(info.run_id)
    yield info.run_id
    admin.delete_run(info.run_id, permanently=True)


def cells(answer: Migration) -> dict[tuple[int, int], int]:
    return {
        (row, column): count
        for row, counts in enumerate(answer.matrix.counts)
        for column, count in enumerate(counts)
        if count
    }


def moves(before: Mapping[str, int], after: Mapping[str, int], known: Mapping[str, int]) -> dict[tuple[int, int], int]:
    return dict(Counter((before.get(prompt, NOT_SEEN), after.get(prompt, NOT_SEEN)) for prompt in known))


def test_tracked_prompts_move_from_the_base_model_to_now(admin: Client, recorded: Recorded) -> None:
    answer = admin.migration(recorded.id)
    assert (answer.kind, answer.from_step, answer.to_step, answer.last_step) == ("tracked", 0, NUM_STEPS, NUM_STEPS)
    assert answer.steps == [0, 8, 16, 24]
    before, after = recorded.tracked(0), recorded.tracked(NUM_STEPS)
    assert cells(answer) == moves(before, after, before)
    assert answer.matrix.num_prompts == len(before) == 48
    assert answer.matrix.before == [*(sum(k == count for count in before.values()) for k in range(9)), 0]
    assert answer.matrix.after == [*(sum(k == count for count in after.values()) for k in range(9)), 0]


def test_rates_come_with_their_interval_and_with_what_chance_alone_gives(admin: Client, recorded: Recorded) -> None:
    answer = admin.migration(recorded.id)
    before = recorded.tracked(0)
    unsolved = [prompt for prompt, count in before.items() if count == 0]
    assert answer.null is not None
    for matrix, after in ((answer.matrix, recorded.tracked(NUM_STEPS)), (answer.null, recorded.tracked(0, 1))):
        moved = sum(after[prompt] > 0 for prompt in unsolved)
        assert matrix.rates.unlocked is not None
        assert (matrix.rates.unlocked.num_moved, matrix.rates.unlocked.num_prompts) == (moved, len(unsolved))
        assert matrix.rates.unlocked.value == moved / len(unsolved)
        assert matrix.rates.unlocked.low <= matrix.rates.unlocked.value <= matrix.rates.unlocked.high
        assert matrix.rates.strictly_unlocked is not None
        assert matrix.rates.strictly_unlocked.num_moved == sum(after[prompt] >= 4 for prompt in unsolved)


def test_a_step_between_two_samplings_stands_for_the_earlier_one(admin: Client, recorded: Recorded) -> None:
    answer = admin.migration(recorded.id, from_step=7, to_step=15)
    assert (answer.from_step, answer.to_step) == (0, 8)
    answer = admin.migration(recorded.id, from_step=8, to_step=16)
    assert (answer.from_step, answer.to_step) == (8, 16)
    assert cells(answer) == moves(recorded.tracked(8), recorded.tracked(16), recorded.tracked(8))
    assert admin.migration(recorded.id, from_step=0, to_step=10_000).to_step == NUM_STEPS


@pytest.mark.parametrize(("from_step", "to_step"), [(0, 0), (0, 1), (7, 19), (19, 19), (12, NUM_STEPS)])
def test_training_prompts_stand_where_they_were_last_evaluated(
    admin: Client, recorded: Recorded, from_step: int, to_step: int
) -> None:
    answer = admin.migration(recorded.id, kind="last_seen", from_step=from_step, to_step=to_step)
    assert (answer.from_step, answer.to_step, answer.steps) == (from_step, to_step, [])
    everything = recorded.last_seen(NUM_STEPS)
    assert cells(answer) == moves(recorded.last_seen(from_step), recorded.last_seen(to_step), everything)
    # Prompts are seen by a policy and at a step each: no measurement of chance fits that.
    assert answer.null is None


def test_while_every_step_brings_new_prompts_last_seen_compares_with_half_of_the_run(
    admin: Client, recorded: Recorded
) -> None:
    answer = admin.migration(recorded.id, kind="last_seen")
    assert (answer.from_step, answer.to_step) == (NUM_STEPS // 2, NUM_STEPS)


def test_later_epochs_are_compared_with_the_first(admin: Client) -> None:
    # Steps 1..5 bring p1..p5; 6..9 bring nobody new.
    info = admin.create_import(ImportCreate(name="epochs", source="epochs", config=CONFIG, attempts=1))
    records = [step(number) for number in range(1, 6)]
    again = [step(number).model_copy(update={"prompts": records[number - 6].prompts}) for number in range(6, 10)]
    admin.import_records(info.run_id, batch(lines_of([*records, *again]), token=info.fencing_token))
    answer = admin.migration(info.run_id, kind="last_seen")
    assert (answer.from_step, answer.to_step) == (5, 9)
    # A prompt that was only ever reused was never evaluated.
    assert cells(answer) == {(3, 3): 5, (NOT_SEEN, NOT_SEEN): 1}


def test_a_migration_grows_with_the_run(admin: Client) -> None:
    info = admin.create_import(ImportCreate(name="growing", source="growing", config=CONFIG, attempts=1))
    stored = admin.import_records(info.run_id, batch(lines_of([step(1)]), token=info.fencing_token)).next_offset
    assert admin.migration(info.run_id, kind="last_seen").last_step == 1
    admin.import_records(info.run_id, batch(lines_of([step(2)]), token=info.fencing_token, start=stored))
    answer = admin.migration(info.run_id, kind="last_seen", from_step=1)
    assert (answer.last_step, answer.to_step) == (2, 2)
    # p1 stays, p2 is new, `shared` was only reused.
    assert cells(answer) == {(3, 3): 1, (NOT_SEEN, 3): 1, (NOT_SEEN, NOT_SEEN): 1}


@pytest.mark.parametrize("kind", ["tracked", "last_seen"])
def test_a_run_without_records_has_an_empty_matrix(admin: Client, unborn: str, kind: MigrationKind) -> None:
    answer = admin.migration(unborn, kind=kind)
    assert (answer.steps, answer.last_step, answer.matrix.num_prompts, answer.null) == ([], 0, 0, None)
    assert answer.matrix.counts == [[0] * 10] * 10
    assert set(answer.matrix.rates.model_dump().values()) == {None}
    path = admin.flows(unborn, kind=kind)
    assert (path.steps, path.paths, path.num_prompts) == ([0, 0, 0, 0], [], 0)


def test_flows_follow_each_prompt_through_the_steps(admin: Client, recorded: Recorded) -> None:
    answer = admin.flows(recorded.id, steps=[0, 9, 24])
    assert answer.steps == [0, 8, 24]
    assert [each.name for each in answer.classes] == ["unsolved", "low", "middle", "high", "solved", "not_seen"]

    def place(count: int) -> int:
        # Of 8: 0 | 1 2 | 3 4 5 | 6 7 | 8.
        return [0, 1, 1, 2, 2, 2, 3, 3, 4][count]

    samplings = [recorded.tracked(step) for step in (0, 8, 24)]
    expected = Counter(tuple(place(sampling[prompt]) for sampling in samplings) for prompt in samplings[0])
    assert {tuple(path.classes): path.num_prompts for path in answer.paths} == expected
    assert answer.num_prompts == 48
    assert [path.num_prompts for path in answer.paths] == sorted(expected.values(), reverse=True)


def test_flows_take_four_even_steps_where_none_are_named(admin: Client, recorded: Recorded) -> None:
    assert admin.flows(recorded.id).steps == [0, 8, 16, 24]
    # From the middle of the run, 12, as all prompts may be new: 12, 16, 20, 24.
    answer = admin.flows(recorded.id, kind="last_seen")
    assert answer.steps == [12, 16, 20, 24]
    assert answer.num_prompts == len(recorded.last_seen(NUM_STEPS))


@pytest.mark.parametrize(
    "steps", ["5", "5,5", "8,5", "0,1,2,3,4,5,6", "", "0,", "a,b", "-1,2", "0,4294967296", "1.5,2"]
)
def test_steps_that_are_no_rising_list_are_refused(admin: Client, recorded: Recorded, steps: str) -> None:
    with refuses(422, field="steps"):
        admin.send(get(run_path(recorded.id, "flows"), Flows, steps=steps))


def test_a_from_step_after_the_to_step_is_refused(admin: Client, recorded: Recorded) -> None:
    with pytest.raises(ApiError) as refusal:
        admin.migration(recorded.id, from_step=9, to_step=8)
    assert (refusal.value.status, refusal.value.body.field, refusal.value.body.value) == (422, "from_step", 9)
    assert "swap them" in refusal.value.body.remedy


def test_a_run_that_is_not_there_has_no_migration(admin: Client) -> None:
    for ask in (admin.migration, admin.flows):
        with refuses(404):
            ask("nowhere")
