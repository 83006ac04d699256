"""Runs that go on from a checkpoint of another one, as the server sees them."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.api.configs import ConfigCheck
from bapo.api.runs import ParameterChange, RunCreate, RunDetail, RunFork, RunStatus
from bapo.client import ApiError, Client
from bapo.records import EventRecord
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, event, sample, step, tracking
from tests.support.refusals import refuses


def checkpoint(number: int) -> EventRecord:
    return event("checkpoint", number, checkpoint=f"step-{number:06d}")


@pytest.fixture(scope="module")
def parent(admin: Client, worker: FakeWorker) -> RunDetail:
    """120 steps, changed before step 41 and again before 101; checkpoints of 60, 100 and 120."""
    changes = {"training.keep_checkpoints": 3, "training.steps": 150}
    run = admin.create_run(RunCreate(name="parent", recipe="countdown-demo", changes=changes))
    claim = worker.begin(run)
    worker.upload(claim, [event("started", num_steps=150), evaluation(0, 0.2), tracking(0)])
    worker.upload(claim, [step(number) for number in range(1, 41)])
    for number, at, c1 in ((1, 41, 0.25), (2, 101, 0.375)):
        control = admin.change_parameters(run.id, ParameterChange(set={"method.c1": c1}, at_step=at))
        answer = event("parameter_change", at - 1, id=control.id, author="admin", set=control.set, applied_step=at)
        worker.upload(claim, [answer, *[step(each) for each in range(at, at + 60 if number == 1 else 121)]])
        worker.upload(
            claim, [checkpoint(60), evaluation(50, 0.5), checkpoint(100)] if number == 1 else [checkpoint(120)]
        )
    worker.upload(claim, [sample(60), sample(101)], "samples")
    worker.report(claim, "failed", "for the test")
    return admin.run(run.id)


def fork(client: Client, parent: RunDetail, at: int = 100, **fields: Any) -> RunDetail:
    return client.fork(parent.id, RunFork.model_validate({"step": at, "name": "fork", "start": False, **fields}))


def test_a_fork_begins_with_its_parents_past(admin: Client, parent: RunDetail) -> None:
    run = fork(admin, parent, 60)
    assert (run.step, run.num_steps, run.num_rollouts) == (60, 150, 60 * 256)
    assert (run.parent_id, run.parent_name, run.fork_step) == (parent.id, "parent", 60)
    assert (run.eval_base, run.eval_latest, run.eval_best_step) == (0.2, 0.5, 50)
    # Step 60 is in the middle of the parent's first chunk.
    series = admin.metrics(run.id, ["actor/pg_loss", "bapo/cost/num_rollouts"])
    assert list(series.steps) == list(range(1, 61))
    records = admin.records(run.id, limit=1000).items
    assert [record["event"] for record in records if record["type"] == "event"] == ["parameter_change"]
    assert max(record["step"] for record in records) == 60


def test_a_fork_after_whole_chunks_has_all_their_values(admin: Client, parent: RunDetail) -> None:
    for at in (100, 120):
        run = fork(admin, parent, at)
        series = admin.metrics(run.id, ["bapo/cost/num_rollouts"])
        (values,) = series.columns.values()
        assert list(values) == [256.0 * number for number in range(1, at + 1)]


def test_a_fork_takes_the_config_in_force_at_its_step(admin: Client, parent: RunDetail) -> None:
    assert fork(admin, parent, 60).config["method"]["c1"] == 0.25
    # The change before step 101 is not in the checkpoint of step 100.
    run = fork(admin, parent, 100, changes={"method.v": 2, "training.steps": 130})
    assert (run.config["method"]["c1"], run.config["method"]["v"], run.num_steps) == (0.25, 2, 130)
    assert {field: tuple(pair) for field, pair in run.diff.items()} == {
        "method.c1": (0.125, 0.25),
        "method.v": (5, 2),
        "training.steps": (150, 130),
    }
    assert fork(admin, parent, 120).config["method"]["c1"] == 0.375


@pytest.mark.parametrize(
    ("at", "changes", "status", "field"),
    [
        (61, {}, 404, "step"),
        (100, {"task.num_train": 64}, 422, "task.num_train"),
        (100, {"rollout.group_size": 4}, 422, "rollout.group_size"),
        (100, {"training.steps": 100}, 422, "training.steps"),
        (100, {"method.c1": 2}, 422, "method.c1"),
        (100, {"method.nothing": 2}, 422, "method.nothing"),
    ],
)
def test_what_cannot_go_on_is_refused_by_field(
    admin: Client, parent: RunDetail, at: int, changes: dict[str, Any], status: int, field: str
) -> None:
    with refuses(status, field=field):
        fork(admin, parent, at, changes=changes)
    # The form says so while people type.
    with refuses(status, field=field):
        admin.validate(ConfigCheck(parent_id=parent.id, fork_step=at, changes=changes))


def test_a_draft_of_a_fork_starts_from_the_config_in_force(admin: Client, parent: RunDetail) -> None:
    report = admin.validate(ConfigCheck(parent_id=parent.id, fork_step=60, changes={"method.v": 2}))
    assert report.config["method"]["c1"] == 0.25
    assert {field: tuple(pair) for field, pair in report.diff.items()} == {"method.v": (5, 2)}


def test_a_worker_learns_where_a_fork_begins_and_its_records_go_on(
    admin: Client, worker: FakeWorker, parent: RunDetail
) -> None:
    run = fork(admin, parent, 100, start=True)
    claim = worker.begin(run)
    assert claim.fork is not None
    assert (claim.fork.run_id, claim.fork.step) == (parent.id, 100)
    assert claim.fork.run_dir.endswith(parent.id)
    worker.upload(claim, [event("forked", 100, from_step=100, parent=parent.id, num_steps=150), checkpoint(100)])
    worker.upload(claim, [step(101), step(102)])
    now = admin.run(run.id)
    assert (now.step, now.num_rollouts) == (102, 102 * 256)
    assert [each.step for each in admin.checkpoints(run.id).items] == [100]
    # A fork of the fork, and after its parent is forgotten the fork stays whole.
    worker.report(claim, "failed", "for the test")
    assert fork(admin, now, 100).step == 100
    assert list(admin.metrics(run.id, ["actor/pg_loss"]).steps) == list(range(1, 103))


def test_a_fork_outlives_its_parent(admin: Client, worker: FakeWorker) -> None:
    body = RunCreate(name="short", recipe="countdown-demo")
    parent = admin.create_run(body)
    claim = worker.begin(parent)
    worker.upload(claim, [step(1), step(2), checkpoint(2)])
    worker.report(claim, "failed", "for the test")
    run = fork(admin, parent, 2)
    admin.delete_run(parent.id, permanently=True)
    now = admin.run(run.id)
    assert (now.parent_id, now.fork_step, now.step) == (None, 2, 2)
    admin.start(run.id)
    again = worker.claim(run.id)
    assert again.fork is not None
    assert again.fork.run_id == parent.id


def test_the_same_key_forks_once(admin: Client, parent: RunDetail) -> None:
    body = RunFork(step=100, name="once", start=False)
    first = admin.fork(parent.id, body, idempotency_key="fork-1")
    assert admin.fork(parent.id, body, idempotency_key="fork-1").id == first.id
    with pytest.raises(ApiError, match="idempotency_key_reused"):
        admin.fork(parent.id, RunFork(step=60, name="once", start=False), idempotency_key="fork-1")


def test_only_a_run_with_steps_offers_a_fork(admin: Client, parent: RunDetail) -> None:
    assert "fork" in parent.allowed_actions
    draft = admin.create_run(RunCreate(name="draft", recipe="countdown-demo", start=False))
    assert "fork" not in draft.allowed_actions
    with pytest.raises(ApiError, match=r"a draft run does not allow fork"):
        fork(admin, draft)
    fresh = admin.create_run(RunCreate(name="fresh", recipe="countdown-demo"))
    with pytest.raises(ApiError, match="no_checkpoint"):
        fork(admin, fresh)
    assert admin.run(draft.id).status is RunStatus.DRAFT
