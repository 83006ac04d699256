"""Studies of two arms, and fake workers that play their runs."""

from __future__ import annotations

from bapo.api.studies import StudyCreate, StudyDetail
from bapo.client import Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, step, tracking

TEXT = """
title = "{title}"
question = "Is A above B?"
recipe = "countdown-demo"
seeds = [1, 2]
test_sets = ["CD-34"]
num_runs = 4
[[arms]]
name = "A"
method = "bapo"
[[arms]]
name = "B"
method = "grpo"
[primary]
arm = "A"
against = "B"
"""


def body(title: str, more: str = "", num_runs: int = 4) -> StudyCreate:
    """Return the request for a study of these two arms; `more` is appended to its text."""
    return StudyCreate(text=TEXT.format(title=title).replace("num_runs = 4", f"num_runs = {num_runs}") + more)


def finish(worker: FakeWorker, client: Client, run_id: str, accuracy: float) -> None:
    """Play a run to its end: two steps and what it was evaluated and tracked with."""
    claim = worker.begin(client.run(run_id))
    worker.upload(
        claim,
        [
            evaluation(0, 0.25),
            tracking(0),
            tracking(0, replicate=1),
            step(1),
            step(2),
            evaluation(2, accuracy),
            tracking(2),
        ],
    )
    worker.report(claim, "succeeded")


def runs_of(study: StudyDetail, arm: str) -> list[str]:
    """Return the final runs of an arm."""
    return [run.run_id or "" for run in study.runs if run.arm == arm and run.stage == "final"]
