"""Thirty faults over real runs by a seeded schedule: nothing is lost, nothing is there twice, nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.harness import run_schedule
from tests.chaos.schedule import FAULTS, draw
from tests.stack import Stack

SEED = 5
NUM_FAULTS = 30

pytestmark = pytest.mark.chaos


def test_a_schedule_can_be_drawn_again_and_has_every_fault() -> None:
    schedule = draw(SEED, NUM_FAULTS)
    assert schedule == draw(SEED, NUM_FAULTS)
    assert schedule != draw(SEED + 1, NUM_FAULTS)
    assert len(schedule.faults) == NUM_FAULTS
    assert {fault.kind for fault in schedule.faults} == set(FAULTS)


@pytest.mark.timeout(1_500)
def test_runs_end_as_they_should_whatever_is_broken(make_stack: Callable[[], Stack], tmp_path: Path) -> None:
    chaos = run_schedule(make_stack(), draw(SEED, NUM_FAULTS), tmp_path)
    assert chaos.done.total() == NUM_FAULTS
