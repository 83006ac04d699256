"""Runs of a study that were evaluated on different test sets of one name."""

from __future__ import annotations

import numpy as np

from bapo.rollout import problems_digest
from bapo.study.measured_run import MeasuredRun, on_one_set
from tests.support.figure_runs import evaluation

NO_STEPS = np.empty(0, np.int64)


def measured(num_problems: int) -> MeasuredRun:
    """A run with two evaluations of so many problems."""
    ids = [f"p{number}" for number in range(num_problems)]
    problems = problems_digest(ids, {each: {} for each in ids})
    records = [
        evaluation(step, [2] * num_problems).model_copy(update={"problems": problems}) for step in (0, 10)
    ]  # fmt: skip
    return MeasuredRun(config={}, steps=NO_STEPS, columns={}, evaluations=records, tracking=[])


def test_runs_on_one_set_stay_as_they_are() -> None:
    runs = {"a": measured(50), "b": measured(50)}
    assert on_one_set(runs, ["a", "b"]) == (runs, None)


def test_the_report_is_on_the_set_that_most_runs_have() -> None:
    runs = {"a": measured(50), "b": measured(200), "c": measured(50), "tuning": measured(20)}
    found, note = on_one_set(runs, ["a", "b", "c"])
    assert {name: len(run.evaluations) for name, run in found.items()} == {"a": 2, "b": 0, "c": 2, "tuning": 2}
    assert note == (
        "CD-4 is 50 problems × 4 responses in some runs and 200 problems × 4 responses in others: different held-out "
        "sets, whose accuracies are not compared. This report is on CD-4 (50 × 4); 1 run evaluated on another set left "
        "out."
    )
