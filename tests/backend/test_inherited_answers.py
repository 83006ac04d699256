"""Answers that several runs hold, forks and copies, over all runs of a project: each counts once."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pytest

from bapo.answer_text import ANSWER_TEXT
from bapo.api.imports import ImportCreate
from bapo.api.runs import RunCreate, RunDetail, RunFork
from bapo.client import Client
from bapo.config import RunConfig
from bapo.records import PromptVisit, SampledResponse, SampleRecord, StepRecord
from bapo.rollout import BatchSource
from tests.support.counted_prompts import found, wait_until_counted
from tests.support.fake_worker import FakeWorker
from tests.support.journals import batch, event, lines_of, sample, step

CORRECT = (0, 2, 4, 8)
"""Of the eight answers to the prompt in each step of the parent."""


def recorded(prompt_id: str, correct: Sequence[int], first: int = 1, seconds: float = 0.0) -> list[StepRecord]:
    """Steps that answer the prompt once each, recorded at times that no other run has."""
    return [
        step(number).model_copy(
            update={
                "prompts": [PromptVisit(prompt_id, BatchSource.FRESH, count, number - 1, in_batch=True)],
                "timing": {"step": 0.25, "unix_time": 1_750_000_000.0 + number + seconds},
            }
        )
        for number, count in enumerate(correct, first)
    ]


def answered(number: int, prompt_id: str) -> SampleRecord:
    """A group of two responses, kept as text."""
    responses = [
        SampledResponse(text=f"<answer>{text}</answer>", reward=0, num_tokens=6, logprob_sum=-1.5) for text in "78"
    ]
    return sample(number, prompt_id).model_copy(
        update={"answer": {ANSWER_TEXT: "9"}, "group_size": 2, "num_correct": 0, "responses": responses}
    )


def trained(admin: Client, worker: FakeWorker, name: str, prompt_id: str) -> RunDetail:
    """A run of four steps with a checkpoint after the second and the last."""
    run = admin.create_run(RunCreate(name=name, recipe="countdown-demo", changes={"training.keep_checkpoints": 3}))
    claim = worker.begin(run)
    worker.upload(claim, recorded(prompt_id, CORRECT))
    worker.upload(claim, [event("checkpoint", at, checkpoint=f"step-{at:06d}") for at in (2, 4)])
    worker.upload(claim, [answered(number, prompt_id) for number in (1, 4)], kind="samples")
    worker.report(claim, "failed", "for the test")
    return run


def forked(
    admin: Client, worker: FakeWorker, parent: RunDetail, at: int, name: str, steps: Sequence[StepRecord] = ()
) -> RunDetail:
    """A fork that has trained further."""
    run = admin.fork(parent.id, RunFork(step=at, name=name, start=bool(steps)))
    if steps:
        claim = worker.begin(run)
        worker.upload(claim, steps)
        worker.upload(claim, [event("checkpoint", steps[-1].step, checkpoint=f"step-{steps[-1].step:06d}")])
        worker.report(claim, "failed", "for the test")
    return run


def imported(admin: Client, name: str, steps: Sequence[StepRecord]) -> None:
    """A run folder with these steps, sent to the server."""
    config = RunConfig.model_validate({}).model_dump(mode="json")
    info = admin.create_import(ImportCreate(name=name, source=name, config=config, attempts=1))
    admin.import_records(info.run_id, batch(lines_of(steps), token=info.fencing_token))
    admin.finish_import(info.run_id)


def sums(admin: Client, prompt_id: str) -> tuple[int, int, int, int]:
    """Runs, visits, responses and correct ones of a prompt over all runs."""
    totals = found(admin, prompt_id)
    return totals.num_runs, totals.num_visits, totals.accuracy.num_responses, totals.accuracy.num_correct


@pytest.fixture(scope="module")
def family(admin: Client, worker: FakeWorker) -> tuple[RunDetail, RunDetail, RunDetail, RunDetail]:
    """A parent, a fork with two steps of its own, a fork of the fork with one, and a fork that has not begun."""
    parent = trained(admin, worker, "parent", "f:one")
    own = recorded("f:one", (8, 8), first=3, seconds=0.5)
    fork = forked(admin, worker, parent, 2, "fork", own)
    chain = forked(admin, worker, fork, 4, "chain", recorded("f:one", (0,), first=5, seconds=0.7))
    whole = forked(admin, worker, parent, 4, "whole")
    # 4 + 2 + 1 steps were answered, each with 8 responses: 14 + 16 + 0 of them are correct.
    wait_until_counted(lambda: sums(admin, "f:one") == (3, 7, 56, 30))
    return parent, fork, chain, whole


Family = tuple[RunDetail, RunDetail, RunDetail, RunDetail]


def test_forks_and_forks_of_forks_add_their_own_answers_only(admin: Client, family: Family) -> None:
    totals = found(admin, "f:one")
    # The fork answers 8 of 8 from its first step on, the fork of the fork 0 of 8; the parent neither.
    assert (totals.num_runs, totals.num_always_solved, totals.num_never_solved) == (3, 1, 1)
    rows = list(csv.DictReader(io.StringIO(admin.project_prompts_csv())))
    (row,) = [row for row in rows if row["prompt_id"] == "f:one"]
    assert (row["num_runs"], row["num_visits"], row["num_responses"], row["num_correct"]) == ("3", "7", "56", "30")


def test_a_run_shows_what_it_inherited_and_says_so(admin: Client, family: Family) -> None:
    page = admin.prompt_in_runs("f:one")
    assert [(each.run_name, each.num_visits, each.num_inherited_visits) for each in page.items] == [
        ("whole", 4, 4),
        ("chain", 5, 4),
        ("fork", 4, 2),
        ("parent", 4, 0),
    ]
    assert (page.total, page.items[2].accuracy.num_correct) == (4, 0 + 2 + 8 + 8)


def test_visits_are_exported_and_drawn_once(admin: Client, family: Family) -> None:
    rows = list(csv.DictReader(io.StringIO(admin.prompt_history_csv("f:one"))))
    assert [(row["run_name"], row["step"]) for row in rows] == [
        ("chain", "5"),
        *(("fork", step) for step in "34"),
        *(("parent", step) for step in "1234"),
    ]
    curves = {curve.run_name: curve.step for curve in admin.prompt_curves("f:one").items}
    assert curves == {"chain": [5], "fork": [3, 4], "parent": [1, 2, 3, 4]}


def test_stored_responses_are_pooled_once(admin: Client, family: Family) -> None:
    pooled = admin.prompt_answers("f:one")
    # Two groups of two, of the parent; each fork has a copy of the first.
    assert (pooled.num_runs, pooled.num_responses, pooled.num_without_answer) == (1, 4, 0)
    assert [each.run_name for each in pooled.newest] == ["parent"]


def test_a_run_imported_again_and_trained_further_adds_its_further_steps(admin: Client, worker: FakeWorker) -> None:
    trained(admin, worker, "original", "c:one")
    copied = recorded("c:one", CORRECT)
    imported(admin, "copy", copied)
    imported(admin, "resumed", [*copied[:2], *recorded("c:one", (1,), first=3, seconds=0.25)])
    # 4 steps and 1 further: 14 + 1 of 40.
    wait_until_counted(lambda: sums(admin, "c:one") == (2, 5, 40, 15))
    inherited = {each.run_name: each.num_inherited_visits for each in admin.prompt_in_runs("c:one").items}
    assert inherited == {"original": 0, "copy": 4, "resumed": 2}


def test_equal_counts_of_independent_runs_are_counted_each(admin: Client) -> None:
    imported(admin, "one seed", recorded("i:one", (3, 4)))
    imported(admin, "another", recorded("i:one", (3, 4), seconds=0.5))
    wait_until_counted(lambda: sums(admin, "i:one") == (2, 4, 32, 14))


def test_what_a_deleted_run_answered_counts_in_its_oldest_heir(admin: Client, worker: FakeWorker) -> None:
    parent = trained(admin, worker, "deleted", "d:one")
    first = forked(admin, worker, parent, 2, "first heir")
    forked(admin, worker, parent, 2, "second heir", recorded("d:one", (5,), first=3, seconds=0.5))
    wait_until_counted(lambda: sums(admin, "d:one") == (2, 5, 40, 19))
    admin.delete_run(parent.id)
    # Steps 1 and 2 of the parent live on in its forks: 0 + 2, and 5.
    wait_until_counted(lambda: sums(admin, "d:one") == (2, 3, 24, 7))
    inherited = {each.run_name: each.num_inherited_visits for each in admin.prompt_in_runs("d:one").items}
    assert inherited == {"first heir": 0, "second heir": 2}
    admin.delete_run(first.id)
    wait_until_counted(lambda: sums(admin, "d:one") == (1, 3, 24, 7))
    admin.restore_run(parent.id)
    admin.restore_run(first.id)
    wait_until_counted(lambda: sums(admin, "d:one") == (2, 5, 40, 19))
