"""How long a run takes to stop, from its journals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bapo.run.journal import RECORDS_FILE
from bapo.run.stop_time import StopTime, StopWatch, grace_seconds


def write(run_folder: Path, attempt: int, *records: dict[str, Any]) -> None:
    folder = run_folder / f"attempt-{attempt}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / RECORDS_FILE).open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def step(number: int, seconds: float, elapsed: float = 0.0) -> dict[str, Any]:
    return {"type": "step", "step": number, "timing": {"step": seconds, "elapsed": elapsed}}


def checkpoint(seconds: float) -> dict[str, Any]:
    return {"type": "event", "event": "checkpoint", "timing": {"checkpoint": seconds}}


def test_a_run_without_a_step_is_not_measured(tmp_path: Path) -> None:
    watch = StopWatch(tmp_path, 1)
    assert watch.look() == StopTime()
    write(tmp_path, 1, {"type": "event", "event": "started", "timing": {}})
    assert watch.look() == StopTime()


def test_the_longest_step_evaluation_and_checkpoint_count(tmp_path: Path) -> None:
    watch = StopWatch(tmp_path, 1)
    write(tmp_path, 1, step(1, 20.0, elapsed=95.0), step(2, 30.0, elapsed=125.0))
    assert watch.look() == StopTime(95.0, 30.0)
    write(
        tmp_path,
        1,
        {"type": "tracking", "step": 2, "timing": {"tracking": 4.0}},
        {"type": "evaluation", "step": 2, "timing": {"evaluation": 6.0}},
        checkpoint(15.0),
        step(3, 25.0),
        {"type": "evaluation", "step": 3, "timing": {"evaluation": 7.0}},
        checkpoint(12.0),
    )
    # 30 s for a step, 4 + 6 s for tracking and evaluation after one step, 15 s for a checkpoint.
    assert watch.look() == StopTime(95.0, 55.0)


def test_steps_of_long_ago_do_not_count(tmp_path: Path) -> None:
    write(tmp_path, 1, step(1, 500.0, elapsed=600.0), *(step(number, 10.0) for number in range(2, 22)))
    assert StopWatch(tmp_path, 1).look() == StopTime(600.0, 10.0)


def test_a_new_attempt_knows_what_earlier_ones_measured(tmp_path: Path) -> None:
    write(tmp_path, 1, step(1, 40.0, elapsed=70.0), checkpoint(5.0))
    watch = StopWatch(tmp_path, 2)
    assert watch.look() == StopTime(70.0, 45.0)
    write(tmp_path, 2, step(2, 50.0, elapsed=85.0))
    assert watch.look() == StopTime(85.0, 55.0)


def test_a_line_that_is_no_record_of_ours_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, 1, {"type": "step"}, step(1, 3.0, elapsed=9.0))
    with (tmp_path / "attempt-1" / RECORDS_FILE).open("a") as file:
        file.write('damaged\n["a list"]\n{"type":"step","timing":{"step":99')
    assert StopWatch(tmp_path, 1).look() == StopTime(9.0, 3.0)


@pytest.mark.parametrize(("stop_seconds", "grace"), [(None, 45.0), (23.0, 45.0), (24.0, 46.0), (200.0, 310.0)])
def test_the_grace_has_a_margin_and_a_floor(stop_seconds: float | None, grace: float) -> None:
    # 1.5 · 24 s + 10 s = 46 s.
    assert grace_seconds(stop_seconds) == grace
