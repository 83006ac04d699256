"""Columns for charts: each with its own sample, smoothed before any step is left out; ratios and ages."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from backend.records.curves import Smoothing, extreme_rows, smoothed, smoothing_of
from backend.records.distributions import spans_of, staleness
from backend.records.repository import StepRange
from bapo.analysis.visits import visits_of
from bapo.api.runs import RunCreate, RunDetail
from bapo.client import Client
from bapo.records import RATIO_BIN_EDGES, StepRecord
from bapo.run.journal import merged_records
from tests.support.fake_worker import FakeWorker
from tests.support.journals import step
from tests.support.recorded import import_folder
from tests.support.refusals import refuses

LOSS = "actor/pg_loss"
TOKENS = "bapo/cost/num_tokens"


@pytest.fixture(scope="module")
def long_run(worker: FakeWorker, admin: Client) -> str:
    """250 steps: two chunks and fifty rows; the loss rises by 1/8 a step, but for a peak in step 123."""
    run = admin.create_run(RunCreate(name="long", recipe="countdown-demo"))
    records = [step(number, loss=99.0 if number == 123 else number / 8) for number in range(1, 251)]
    worker.upload(worker.begin(run), records)
    return run.id


@pytest.fixture(scope="module")
def recorded(admin: Client, recorded_folders: Mapping[str, Path]) -> tuple[str, list[StepRecord]]:
    """A run that was really trained, and its steps."""
    folder = recorded_folders["bapo-seed-1"]
    run_id = import_folder(admin, folder)
    return run_id, [record for record in merged_records(folder) if isinstance(record, StepRecord)]


def test_each_group_has_its_own_sample(admin: Client, long_run: str) -> None:
    answer = admin.metric_groups(long_run, [[LOSS], ["bapo/batch/x1", "bapo/batch/x3"], []], max_points=20)
    loss, batch, empty = answer.groups
    # 10 buckets of 25 steps with their smallest and largest value; 5 buckets for two columns.
    assert 123 in loss.steps
    assert len(loss.steps) <= 22
    assert list(loss.columns) == [LOSS]
    assert loss.sampled == f"min-max; {len(loss.steps)} of 250 steps"
    assert list(batch.columns) == ["bapo/batch/x1", "bapo/batch/x3"]
    assert loss.steps != batch.steps
    # Without columns of its own a chart gets evenly spaced steps.
    assert (empty.steps[0], empty.steps[-1], len(empty.steps)) == (1, 250, 20)


def test_an_axis_comes_along_and_chooses_no_step(admin: Client, long_run: str) -> None:
    (alone,) = admin.metric_groups(long_run, [[LOSS]], max_points=20).groups
    (along,) = admin.metric_groups(long_run, [[LOSS]], along=["training/global_step"], max_points=20).groups
    assert along.steps == alone.steps
    assert along.columns["training/global_step"] == [float(number) for number in along.steps]


def test_groups_without_a_limit_hold_every_step(admin: Client, long_run: str) -> None:
    (group,) = admin.metric_groups(long_run, [[LOSS]], from_step=199, to_step=202).groups
    assert group.steps == [199, 200, 201, 202]
    assert group.columns[LOSS] == [199 / 8, 200 / 8, 201 / 8, 202 / 8]
    assert (group.sampled, group.smoothed) == ("no", {})


def test_means_are_worked_out_before_steps_are_left_out(admin: Client, long_run: str) -> None:
    (group,) = admin.metric_groups(long_run, [[LOSS]], max_points=20, smooth="mean:3").groups
    raw = {number: 99.0 if number == 123 else number / 8 for number in range(1, 251)}
    for number, value in zip(group.steps, group.smoothed[LOSS], strict=True):
        window = [raw[each] for each in range(max(1, number - 2), number + 1)]
        assert value == pytest.approx(sum(window) / len(window))


@pytest.mark.parametrize("smooth", ["mean:10", "ema:5"])
def test_the_newest_steps_are_smoothed_as_in_the_whole(admin: Client, long_run: str, smooth: str) -> None:
    (whole,) = admin.metric_groups(long_run, [[LOSS]], smooth=smooth).groups
    (newest,) = admin.metric_groups(long_run, [[LOSS]], from_step=241, smooth=smooth).groups
    assert newest.smoothed[LOSS] == pytest.approx(whole.smoothed[LOSS][240:], rel=1e-6)


def test_a_change_is_the_difference_to_the_step_before(admin: Client, recorded: tuple[str, list[StepRecord]]) -> None:
    run_id, steps = recorded
    key = f"change:{TOKENS}"
    totals = [record.cost.num_tokens or 0 for record in steps]
    # The counter begins at 0.
    expected = [totals[0], *(after - before for before, after in itertools.pairwise(totals))]
    assert admin.metrics(run_id, [key]).columns[key] == expected
    (group,) = admin.metric_groups(run_id, [[key]], from_step=5, to_step=6).groups
    assert group.columns[key] == expected[4:6]


def test_nothing_is_known_of_a_change_over_a_hole(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    worker.upload(worker.begin(run), [step(2), step(3), step(5)])
    key = "change:training/global_step"
    assert admin.metrics(run.id, [key, "training/global_step"]).columns[key] == [None, 1, None]


@pytest.mark.parametrize("smooth", ["mean:0", "median:3", "mean:1000", "mean"])
def test_a_smoothing_that_is_none_is_refused(admin: Client, long_run: str, smooth: str) -> None:
    with refuses(422):
        admin.metric_groups(long_run, [[LOSS]], smooth=smooth)


def test_too_many_groups_are_refused(admin: Client, long_run: str) -> None:
    assert len(admin.metric_groups(long_run, [[LOSS]] * 50).groups) == 50
    with refuses(422, field="groups"):
        admin.metric_groups(long_run, [[LOSS]] * 51)


def test_means_leave_gaps_out() -> None:
    values = np.array([[1.0, np.nan, 3.0, np.nan, np.nan, np.nan]])
    # Windows of 3: 1 | 1 | (1+3)/2 | 3 | 3 | nothing.
    means = smoothed(values, Smoothing("mean", 3))[0]
    assert means[:5].tolist() == [1, 1, 2, 3, 3]
    assert np.isnan(means[5])
    # Span 3 halves a weight with each step: 1 | 1 | (1/4 + 3) / (1/4 + 1) = 2.6, which stays.
    ema = smoothed(values, Smoothing("ema", 3))[0]
    assert ema.tolist() == pytest.approx([1, 1, 2.6, 2.6, 2.6, 2.6])


def test_a_smoothing_is_named_by_its_kind_and_span() -> None:
    assert smoothing_of("mean:25") == ("mean", 25)
    assert smoothing_of("ema:20") == ("ema", 20)
    with pytest.raises(ValueError, match="'mean:x' is not a smoothing"):
        smoothing_of("mean:x")


def test_rows_without_columns_are_evenly_spaced() -> None:
    assert extreme_rows([], 101, 3).tolist() == [0, 50, 100]


# ---------------------------------------------------------------- ratios and ages


@pytest.mark.parametrize(("num_points", "width"), [(7, 1), (6, 2), (4, 2), (3, 3), (2, 4)])
def test_spans_hold_equally_many_steps(num_points: int, width: int) -> None:
    spans = spans_of(np.arange(1, 8), num_points)
    assert spans.num_steps_each == width
    assert spans.first_steps == list(range(1, 8, width))
    assert spans.last_steps == [min(first + width - 1, 7) for first in spans.first_steps]
    assert len(spans.last_steps) <= num_points


def test_ratios_are_the_records_histograms(admin: Client, recorded: tuple[str, list[StepRecord]]) -> None:
    run_id, steps = recorded
    whole = admin.ratios(run_id)
    assert whole.edges == list(RATIO_BIN_EDGES)
    assert whole.steps == whole.first_steps == [record.step for record in steps]
    nothing = [0] * (len(RATIO_BIN_EDGES) + 1)
    expected = [list(record.update.ratio_histogram) if record.update else nothing for record in steps]
    assert whole.counts == expected
    summed = admin.ratios(run_id, max_points=5)
    # 24 steps in 5 spans of 5.
    assert summed.steps == [5, 10, 15, 20, 24]
    assert np.sum(summed.counts) == np.sum(expected)
    assert summed.counts[0] == np.sum(expected[:5], axis=0).tolist()


def test_ages_are_those_of_the_groups_trained_on(admin: Client, recorded: tuple[str, list[StepRecord]]) -> None:
    run_id, steps = recorded
    answer = admin.staleness(run_id)
    found = {
        (source, number, age): count
        for source, table in answer.counts.items()
        for number, row in zip(answer.steps, table, strict=True)
        for age, count in zip(answer.ages, row, strict=True)
        if count
    }
    expected: dict[tuple[str, int, int], int] = {}
    for record in steps:
        for visit in record.prompts:
            if visit.in_batch:
                key = (visit.source.value, record.step, record.step - 1 - (visit.policy_version or 0))
                expected[key] = expected.get(key, 0) + 1
    assert found == expected
    summed = admin.staleness(run_id, max_points=2)
    assert (summed.first_steps, summed.steps) == ([1, 13], [12, 24])
    first_half = sum(record.counts.batch for record in steps[:12])
    assert sum(sum(table[0]) for table in summed.counts.values()) == first_half


def test_a_run_that_trained_on_nothing_has_no_ages() -> None:
    spans, ages, counts = staleness(visits_of([], 8), StepRange(1, 10), 5)
    assert (spans.last_steps, ages) == ([], [])
    assert all(table.shape == (0, 0) for table in counts.values())


# ---------------------------------------------------------------- log


def test_a_log_is_read_backwards_too(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    for number in range(450):
        worker.upload_lines(claim, [f"line {number}"], "log")
    end = admin.log(run.id)
    assert end.text.splitlines()[-1] == "line 449"
    assert end.first_offset > 0
    lines = end.text.splitlines()
    first = end.first_offset
    while first:
        chunk = admin.log(run.id, before=first)
        lines = [*chunk.text.splitlines(), *lines]
        first = chunk.first_offset
    assert lines == [f"line {number}" for number in range(450)]
    assert admin.log(run.id, offset=end.next_offset).text == ""
