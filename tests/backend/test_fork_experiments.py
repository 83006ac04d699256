"""Fork experiments: several settings from one checkpoint or several, as the server makes, reads and continues them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bapo.api.runs import RunDetail, RunStatus
from bapo.api.studies import StudyContinuation, StudyCreate, StudyDetail, StudyWrite
from bapo.client import Client
from tests.support.fake_worker import FakeWorker
from tests.support.forks import make_parent, train
from tests.support.refusals import refuses


@pytest.fixture(scope="module")
def parent(admin: Client, worker: FakeWorker) -> RunDetail:
    return make_parent(admin, worker, "parent")


@pytest.fixture(scope="module")
def sibling(admin: Client, worker: FakeWorker) -> RunDetail:
    return make_parent(admin, worker, "sibling", seed=2)


def body(name: str, *checkpoints: tuple[RunDetail, int], **fields: Any) -> StudyCreate:
    content = {
        "name": name,
        "checkpoints": [{"run_id": run.id, "step": at} for run, at in checkpoints],
        "further_steps": 2,
        "points": [{"method.c1": 0.25}],
        **fields,
    }
    return StudyCreate.model_validate(content)


@pytest.fixture(scope="module")
def done(admin: Client, worker: FakeWorker, parent: RunDetail) -> StudyDetail:
    """From one checkpoint: unchanged, another c1, and the unchanged settings with another seed."""
    points = [{"method.c1": 0.25}, {"training.seed": 7}]
    study = admin.create_study(body("done", (parent, 2), points=points, tags=["night"]))
    train(admin, worker, study.runs[0], (2, 2, 2, 2))
    train(admin, worker, study.runs[1], (4, 4, 4, 3), fresh=5)
    train(admin, worker, study.runs[2], (2, 2, 3, 2))
    return admin.study(study.id)


def test_an_experiment_makes_a_fork_of_each_arm_from_each_checkpoint(
    admin: Client, parent: RunDetail, sibling: RunDetail
) -> None:
    study = admin.create_study(body("made", (parent, 4), (sibling, 2), start=False, changes={"method.v": 2}))
    assert (study.num_runs, study.fields, study.further_steps) == (4, ["method.c1"], 2)
    assert [(each.run_name, each.step, each.seed, each.num_steps) for each in study.checkpoints] == [
        ("parent", 4, 1, 8),
        ("sibling", 2, 2, 8),
    ]
    runs = [admin.run(each.run_id or "") for each in study.runs]
    assert [(run.parent_id, run.fork_step, run.num_steps) for run in runs] == [
        (parent.id, 4, 6),
        (parent.id, 4, 6),
        (sibling.id, 2, 4),
        (sibling.id, 2, 4),
    ]
    assert [run.config["method"]["c1"] for run in runs] == [0.125, 0.25, 0.125, 0.25]
    assert {run.config["method"]["v"] for run in runs} == {2}
    assert [run.name for run in runs[:2]] == [
        "made · unchanged · from step 4 of parent",
        "made · c1=0.25 · from step 4 of parent",
    ]
    assert {run.study_id for run in runs} == {study.id}
    # All arms share v: the baseline is not the parent unchanged.
    assert [arm.label for arm in admin.fork_experiment(study.id).arms] == ["baseline", "c1 = 0.25"]


def test_arms_are_compared_problem_by_problem(admin: Client, done: StudyDetail) -> None:
    found = admin.fork_experiment(done.id)
    assert [(arm.label, arm.role, arm.num_steps) for arm in found.arms] == [
        ("unchanged", "baseline", 2),
        ("c1 = 0.25", "arm", 2),
        ("seed = 7", "noise", 2),
    ]
    assert (found.read_at, found.fork_step, found.dataset) == (2, 2, "CD-34")
    # Differences of 2/8 three times and 1/8: mean 7/32, s = 1/16, t(0.975, 3) = 3.182: ± 3.182 / 16 / 2 = 0.0994.
    difference = found.arms[1].against_baseline
    assert difference is not None
    assert (difference.value, difference.n) == (7 / 32, 4)
    assert difference.high == pytest.approx(7 / 32 + 0.0994, abs=1e-4)
    # Both fresh prompts had 5 of 8 instead of 3.
    fresh = found.arms[1].fresh
    assert fresh is not None
    assert fresh.difference is not None
    assert (fresh.difference.value, fresh.num_pairs, fresh.num_groups) == (0.25, 2, 2)
    assert found.arms[1].differences.x == [0, 2]
    # The common history is there once, and each arm begins at its end.
    assert [curve.x for curve in found.history] == [[-2, 0]]
    assert [curve.x for curve in found.training_history] == [[-1, 0]]
    assert {tuple(arm.evaluations.x) for arm in found.arms} == {(0, 2)}
    assert found.outcome.verdict == "one_seed"
    text = found.text.replace("\u202f", " ")
    assert text.startswith("After 2 further steps: c1 = 0.25: 46.9 %")
    assert (
        "over 4 problems the paired difference is +21.9 points [+11.9, +31.8], which excludes 0: the policies" in text
    )
    assert "cannot tell a setting from chance" in text
    assert "The baseline with another seed (seed = 7) differs from it by +3.1 points" in text
    assert "do not cover the chance of training" in found.covers


def test_an_unchanged_arm_is_held_against_its_parent(admin: Client, done: StudyDetail) -> None:
    repeated = admin.fork_experiment(done.id).repetition
    assert repeated is not None
    # The parent had one more version of its policy by then, as the journals here tell it: steps 3 and 4 are the same.
    assert (repeated.num_steps, repeated.num_equal, repeated.first_difference) == (2, 2, None)


def test_several_seeds_give_an_interval_over_them(
    admin: Client, worker: FakeWorker, parent: RunDetail, sibling: RunDetail
) -> None:
    study = admin.create_study(body("seeds", (parent, 2), (sibling, 2)))
    for run, answers in zip(study.runs, ((2, 2, 2, 2), (3, 3, 3, 3)), strict=False):
        train(admin, worker, run, answers)
    # One checkpoint alone: over problems, which say nothing of a setting.
    assert admin.fork_experiment(study.id).outcome.paired_over == "problem"
    for run, answers in zip(study.runs[2:], ((2, 2, 2, 2), (5, 5, 5, 5)), strict=True):
        train(admin, worker, run, answers)
    found = admin.fork_experiment(study.id)
    assert found.outcome.paired_over == "seed"
    # 1/8 and 3/8: mean 1/4, s = √2/8, t(0.975, 1) = 12.706: ± 12.706 / 8 = 1.588.
    difference = found.arms[1].against_baseline
    assert difference is not None
    assert (difference.value, difference.n) == (0.25, 2)
    assert difference.high == pytest.approx(0.25 + 1.588, abs=1e-3)
    assert "over 2 seeds" in found.text
    assert found.covers.startswith("The interval is Student's over 2 seeds")


def test_an_arm_goes_on_where_it_ended(admin: Client, done: StudyDetail) -> None:
    made = admin.continue_arm(done.id, StudyContinuation(arm=1), idempotency_key="on")
    assert admin.continue_arm(done.id, StudyContinuation(arm=1), idempotency_key="on") == made
    [one] = made.runs
    run = admin.run(one.id)
    # Up to the eight steps of the parent, with the arm's setting.
    assert (run.parent_id, run.fork_step, run.num_steps, run.step) == (done.runs[1].run_id, 4, 8, 4)
    assert (run.config["method"]["c1"], run.status, run.tags) == (0.25, RunStatus.QUEUED, ["night"])
    assert run.study_id is None
    now = admin.study(done.id)
    assert [each.continued_as for each in now.runs] == [[], [run.id], []]
    assert now.num_runs == 3
    with refuses(422, field="training.steps"):
        admin.continue_arm(done.id, StudyContinuation(arm=1, steps=4))
    with refuses(404, field="arm"):
        admin.continue_arm(done.id, StudyContinuation(arm=3))


def test_an_arm_that_has_not_ended_cannot_go_on(admin: Client, worker: FakeWorker, parent: RunDetail) -> None:
    study = admin.create_study(body("unfinished", (parent, 2)))
    train(admin, worker, study.runs[0], (2, 2, 2, 2), until="failed")
    for arm in (0, 1):
        with refuses(409, "arm_not_done", field="arm"):
            admin.continue_arm(study.id, StudyContinuation(arm=arm))
    found = admin.fork_experiment(study.id)
    assert (found.read_at, found.outcome.unevaluated) == (2, ["c1 = 0.25"])


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"points": [{"rollout.group_size": 4}]}, "rollout.group_size", "a fork keeps 8"),
        ({"points": [{"method.type": "grpo"}]}, "method.type", "the checkpoint holds the state of"),
        ({"points": [{"training.steps": 9}]}, "training.steps", "leave this field out"),
        ({"points": [{"method.c1": "1/8"}]}, "method.c1", "the same as the arm unchanged"),
        ({"points": [{"method.c1": 0.25}, {"method.c1": "1/4"}]}, "method.c1", "the same as the arm c1=0.25"),
        ({"further_steps": 2_000_000_000}, "further_steps", ""),
    ],
)
def test_an_arm_that_cannot_be_is_named(
    admin: Client, parent: RunDetail, fields: dict[str, Any], field: str, reason: str
) -> None:
    plan = body("bad", (parent, 2), **fields)
    preview = admin.preview_study(StudyWrite.model_validate(plan.model_dump(include=set(StudyWrite.model_fields))))
    found = [problem for run in preview.runs for problem in run.problems]
    assert field in {problem.field for problem in found}
    assert reason in next(problem.remedy for problem in found if problem.field == field)
    with refuses(422):
        admin.create_study(plan)
    assert admin.runs(group="bad", limit=1).total == 0


@pytest.mark.parametrize(
    ("checkpoints", "fields", "field", "reason"),
    [
        ((3,), {}, "checkpoints", "has no checkpoint of step 3: it has 4, 2"),
        ((2, 2), {}, "checkpoints", "twice repeats nothing"),
        ((2,), {"with_unchanged": False}, "points", "one arm alone"),
        ((2, 4), {"grid": {"training.seed": list(range(300))}, "points": []}, "grid", "602 runs"),
    ],
)
def test_an_experiment_that_cannot_be_is_refused(
    admin: Client, parent: RunDetail, checkpoints: Sequence[int], fields: dict[str, Any], field: str, reason: str
) -> None:
    plan = body("bad", *((parent, at) for at in checkpoints), **fields)
    [problem] = admin.preview_study(
        StudyWrite.model_validate(plan.model_dump(include=set(StudyWrite.model_fields)))
    ).problems
    assert (problem.field, reason in problem.remedy) == (field, True), problem.remedy
    with refuses(422, field=field):
        admin.create_study(plan)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"further_steps": None}, "needs both checkpoints and further_steps"),
        ({"further_steps": 0}, "must be at least 1"),
        ({"recipe": "countdown-demo"}, "leave out recipe, parent_id and project"),
    ],
)
def test_a_body_that_is_no_experiment_is_refused(
    admin: Client, parent: RunDetail, fields: dict[str, Any], reason: str
) -> None:
    content = body("bad", (parent, 2)).model_dump(mode="json", exclude_unset=True) | fields
    answer = admin.http.post("/studies", json=content)
    assert answer.status_code == 422
    assert reason in answer.text


def test_near_checkpoints_are_no_independent_replicates(admin: Client, parent: RunDetail) -> None:
    plan = body("near", (parent, 2), (parent, 4), further_steps=3).model_dump(include=set(StudyWrite.model_fields))
    preview = admin.preview_study(StudyWrite.model_validate(plan))
    assert (preview.num_runs, preview.num_illegal) == (4, 0)
    assert "steps 2 and 4 of “parent” are nearer than 3 steps" in preview.warnings[0].remedy


def test_another_study_is_no_experiment(admin: Client) -> None:
    grid = {"name": "grid", "recipe": "countdown-demo", "grid": {"training.seed": [1, 2]}, "start": False}
    study = admin.create_study(StudyCreate.model_validate(grid))
    with refuses(409, "no_experiment"):
        admin.fork_experiment(study.id)
    with refuses(409, "no_experiment"):
        admin.continue_arm(study.id, StudyContinuation(arm=0))
