"""Runs to fork, and forks that a fake worker plays."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.api.runs import RunCreate, RunDetail
from bapo.api.studies import StudyRun
from bapo.client import Client
from bapo.records import EvaluationRecord, Record, StepRecord
from bapo.rollout import BatchSource
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, event, step

PROBLEMS = ("a", "b", "c", "d")


def evaluated(number: int, num_correct: Sequence[int]) -> EvaluationRecord:
    """Return an evaluation with 8 answers to each of four problems."""
    figures = {"num_correct": list(num_correct), "prompt_ids": list(PROBLEMS)}
    return evaluation(number, sum(num_correct) / 32).model_copy(update=figures)


def trained(number: int, num_correct: int = 3, *, num_steps: int = 8) -> StepRecord:
    """Return a step with one fresh prompt."""
    usual = step(number)
    visits = [
        each if each.source is not BatchSource.FRESH else type(each)(f"p{number}", each.source, num_correct, 0, True)
        for each in usual.prompts
    ]
    return usual.model_copy(update={"prompts": visits, "num_steps": num_steps})


def checkpoint(number: int) -> Record:
    """Return the event of a checkpoint."""
    return event("checkpoint", number, checkpoint=f"step-{number:06d}")


def make_parent(admin: Client, worker: FakeWorker, name: str, seed: int = 1) -> RunDetail:
    """Train six of eight steps, checkpoints of 2 and 4."""
    changes = {"training.keep_checkpoints": 3, "training.steps": 8, "training.seed": seed}
    run = admin.create_run(RunCreate(name=name, recipe="countdown-demo", changes=changes))
    claim = worker.begin(run)
    worker.upload(claim, [event("started", num_steps=8), evaluated(0, (1, 1, 1, 1))])
    worker.upload(claim, [*map(trained, (1, 2)), evaluated(2, (2, 2, 2, 2)), checkpoint(2)])
    worker.upload(claim, [*map(trained, (3, 4)), checkpoint(4), *map(trained, (5, 6))])
    worker.report(claim, "failed", "for the test")
    return admin.run(run.id)


def train(
    admin: Client,
    worker: FakeWorker,
    run: StudyRun,
    answers: Sequence[int],
    fresh: int = 3,
    *,
    until: str = "succeeded",
) -> None:
    """Train two steps, with `fresh` right of 8 in both, and an evaluation after them."""
    detail = admin.run(run.run_id or "")
    at = detail.fork_step or 0
    claim = worker.begin(detail)
    end = at + 2
    worker.upload(claim, [event("forked", at, num_steps=end), checkpoint(at)])
    worker.upload(claim, [trained(number, fresh, num_steps=end) for number in (at + 1, end)])
    worker.upload(claim, [evaluated(end, answers), checkpoint(end)])
    worker.report(claim, until, None if until == "succeeded" else "for the test")
