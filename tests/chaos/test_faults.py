"""Faults over real runs by a seeded schedule: nothing is lost, nothing is there twice, nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.chaos.harness import run_schedule
from tests.chaos.schedule import FAULTS, draw, draw_for
from tests.support.drawing import is_thorough
from tests.support.stack import Stack

SEED = 5
NUM_FAULTS = 30

pytestmark = pytest.mark.chaos


def test_a_schedule_can_be_drawn_again_and_has_every_fault() -> None:
    schedule = draw(SEED, NUM_FAULTS)
    assert schedule == draw(SEED, NUM_FAULTS)
    assert schedule != draw(SEED + 1, NUM_FAULTS)
    assert len(schedule.faults) == NUM_FAULTS
    assert {fault.kind for fault in schedule.faults} == set(FAULTS)


def test_two_days_together_have_every_fault_once_and_each_pair_of_days_others() -> None:
    # Day 739,000 since 1 January of year 1 is even: the pairs are (739,000, 739,001), (739,002, 739,003), ...
    first = date.fromordinal(739_000)
    days = [[fault.kind for fault in draw_for(first + timedelta(each)).faults] for each in range(4)]
    assert draw_for(first) == draw_for(first)
    assert sorted(days[0] + days[1]) == sorted(days[2] + days[3]) == sorted(FAULTS)
    assert {*days[0]} not in ({*days[2]}, {*days[3]})


@pytest.mark.timeout(3_000)
def test_runs_end_as_they_should_whatever_is_broken(make_stack: Callable[[], Stack], tmp_path: Path) -> None:
    # The harness prints the day's seed, with which `python -m tests.chaos.harness --day` breaks the same again.
    schedule = draw(SEED, NUM_FAULTS) if is_thorough() else draw_for(datetime.now(UTC).date())
    chaos = run_schedule(make_stack(), schedule, tmp_path)
    assert chaos.done.total() == len(schedule.faults)
