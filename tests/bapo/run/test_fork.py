"""Runs that go on from another run's checkpoint: which configs can, and that they take the parent's course."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bapo.config import RunConfig, apply_changes, resolve
from bapo.run.checkpoint import CheckpointError
from bapo.run.control import ControlRequest, append_request
from bapo.run.fork import ForkOrigin, begin_fork, fork_problems, read_origin
from tests.support import small_runs
from tests.support.simulated_trainer import train
from tests.support.small_runs import config_of, events, lines, steps_of

SETTINGS = {
    **small_runs.OF_ANY_METHOD,
    **small_runs.OF_BAPO,
    "training.steps": 6,
    "training.checkpoint_interval": 2,
    "training.keep_checkpoints": 5,
    "tracking.interval": 3,
    "evaluation.interval": 3,
}


def config(**changes: Any) -> RunConfig:
    return config_of(SETTINGS, {name.replace("__", "."): value for name, value in changes.items()})


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parent")
    assert train(folder, config()).status == "succeeded"
    return folder


ORIGIN = ForkOrigin(run_id="parent", step=4)


def test_a_fork_with_the_same_config_takes_its_parents_course(parent: Path, tmp_path: Path) -> None:
    begin_fork(tmp_path, parent, ORIGIN)
    assert train(tmp_path, config()).steps == 6
    assert lines(tmp_path) == lines(parent, after=4)
    forked, taken_over = events(tmp_path)[:2]
    assert (forked.event, forked.data["parent"], forked.data["num_steps"]) == ("forked", "parent", 6)
    # The server counts the checkpoints that are in the folder by these events.
    assert (taken_over.event, taken_over.step) == ("checkpoint", 4)


def test_a_fork_goes_beyond_its_parents_end(parent: Path, tmp_path: Path) -> None:
    begin_fork(tmp_path, parent, ForkOrigin(run_id="parent", step=6))
    assert train(tmp_path, config(training__steps=7)).steps == 7
    (step,) = steps_of(tmp_path)
    before = steps_of(parent)[-1]
    assert step.cost.num_rollouts >= before.cost.num_rollouts + 12 * 4


def test_a_fork_with_other_thresholds_is_as_a_change_at_that_step(parent: Path, tmp_path: Path) -> None:
    changed, forked = tmp_path / "changed", tmp_path / "forked"
    changed.mkdir()
    request = ControlRequest(id="1", author="ada", at_step=5, set={"method.c1": 0, "method.v": 1})
    append_request(changed, request)
    train(changed, config())
    begin_fork(forked, parent, ORIGIN)
    train(forked, config(method__c1=0, method__v=1))
    assert lines(forked) == lines(changed, after=4)


def test_a_fork_that_lost_its_first_attempt_keeps_its_own_config(parent: Path, tmp_path: Path) -> None:
    straight, crashed = tmp_path / "straight", tmp_path / "crashed"
    for folder in (straight, crashed):
        begin_fork(folder, parent, ORIGIN)
    train(straight, config(method__c1=0, training__learning_rate=1e-3))
    append_request(crashed, ControlRequest(id="1", author="ada", at_step=6, stop=True))
    train(crashed, config(method__c1=0, training__learning_rate=1e-3))
    # As after kill -9 in step 6: nothing of its own is left.
    shutil.rmtree(crashed / "checkpoints" / "step-000005")
    train(crashed, config(method__c1=0, training__learning_rate=1e-3))
    assert lines(crashed) == lines(straight)
    assert len(events(crashed, "forked")) == 1


def test_a_fork_begins_once(parent: Path, tmp_path: Path) -> None:
    begin_fork(tmp_path, parent, ORIGIN)
    # The parent's checkpoint may go afterwards.
    begin_fork(tmp_path, tmp_path / "gone", ORIGIN)
    assert read_origin(tmp_path) == ORIGIN


def test_a_missing_or_damaged_checkpoint_is_named(parent: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="step-000003 cannot be continued: it is no longer there"):
        begin_fork(tmp_path / "a", parent, ForkOrigin(run_id="parent", step=3))
    copy = tmp_path / "copy"
    shutil.copytree(parent / "checkpoints", copy / "checkpoints")
    state = copy / "checkpoints" / "step-000004" / "state.json"
    state.write_text(json.dumps({}))
    with pytest.raises(CheckpointError, match=r"state.json has 2 bytes instead of"):
        begin_fork(tmp_path / "b", copy, ORIGIN)
    assert read_origin(tmp_path / "b") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"method.c1": 0.25},
        {"method.type": "bapo_mini"},
        {"training.steps": 5},
        {"training.seed": 7, "training.learning_rate": 1e-4},
        {"method.difficult_buffer.capacity": 1},
        {"evaluation.interval": 1, "tracking.num_prompts": 0, "engine.threads": 2},
    ],
)
def test_what_a_checkpoint_can_go_on_with(changes: dict[str, Any]) -> None:
    explicit = apply_changes(apply_changes({}, SETTINGS), changes)
    assert fork_problems(resolve(explicit).config, config(), 4) == []


def test_a_fork_without_further_steps_is_answered_with_a_number() -> None:
    # The parent's number again after the checkpoint, with which the form begins.
    parent = config()
    steps = parent.training.steps
    assert steps is not None
    (problem,) = fork_problems(parent, parent, steps)
    assert (problem.field, problem.value) == ("training.steps", steps)
    assert problem.remedy.endswith(f"give more steps than that, such as {2 * steps}")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("model.path", "another", "weights and the vocabulary"),
        ("task.seed", 1, "the parent's prompts"),
        ("task.num_train", 64, "the parent's prompts"),
        ("rollout.group_size", 8, "groups of the parent's size"),
        ("engine.type", "verl", "each engine writes checkpoints of a different kind"),
        ("training.steps", 4, "begins after step 4"),
        # Its buffers would do, but there is no critic in the checkpoint.
        ("method.type", "ba_ppo", "the checkpoint holds the state of bapo"),
    ],
)
def test_what_it_cannot_go_on_with(field: str, value: Any, reason: str) -> None:
    ours = config_of(SETTINGS, {field: value})
    problems = fork_problems(ours, config(), 4)
    assert [problem.field for problem in problems] == [field]
    assert reason in problems[0].remedy


def test_the_number_of_gpus_may_change_where_fsdp_splits_the_checkpoint() -> None:
    def problems(**changes: Any) -> dict[str, str]:
        verl = {"engine.type": "verl", **{f"engine.verl.{name}": value for name, value in changes.items()}}
        parent = config_of(SETTINGS, verl)
        ours = config_of(SETTINGS, {**verl, "engine.verl.gpus_per_node": 8})
        return {each.field: each.remedy for each in fork_problems(ours, parent, 4)}

    assert problems(gpus_per_node=2) == {}
    assert (
        "Megatron's checkpoint is split" in problems(gpus_per_node=2, strategy="megatron")["engine.verl.gpus_per_node"]
    )


def test_a_method_of_another_family_is_refused() -> None:
    grpo = config_of(small_runs.OF_ANY_METHOD, {"method.type": "grpo"})
    problems = fork_problems(grpo, config(), 4)
    assert "the checkpoint holds the state of bapo" in {p.field: p.remedy for p in problems}["method.type"]


def test_a_smaller_buffer_keeps_the_newest(parent: Path, tmp_path: Path) -> None:
    begin_fork(tmp_path, parent, ORIGIN)
    train(tmp_path, config(method__difficult_buffer__capacity=2))
    steps = steps_of(tmp_path)
    sizes = [record.difficult_buffer.size for record in steps if record.difficult_buffer is not None]
    assert len(sizes) == 2
    assert max(sizes) <= 2
