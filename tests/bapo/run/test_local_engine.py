"""Whole runs of the local engine on the shipped model: what is recorded; resumed and forked equals undisturbed."""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bapo.config.method import METHODS
from bapo.engines.base import Policy
from bapo.records import EvaluationRecord, StepRecord, TrackingRecord, metrics
from bapo.rollout import BatchSource
from bapo.run.engine import local_engine
from bapo.run.fork import ForkOrigin, begin_fork
from bapo.run.journal import merged_records
from bapo.run.trainer import train
from bapo.tasks import build_task
from tests.support import small_runs
from tests.support.killed_trainer import train_and_kill
from tests.support.small_runs import OF_ANY_METHOD, config, config_of, events, lines, steps_of

train_until = functools.partial(small_runs.train_until, train=train)
TRAINING_ALONE = {"evaluation.enabled": False, "tracking.num_prompts": 0}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert train(folder, config()).status == "succeeded"
    return folder


@pytest.fixture(scope="module")
def partial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose responses of up to 16 tokens are generated 4 tokens a step."""
    folder = tmp_path_factory.mktemp("partial")
    assert train(folder, config(rollout__max_segment_tokens=4)).status == "succeeded"
    return folder


def test_a_run_records_every_step_evaluation_and_tracking(undisturbed: Path) -> None:
    records = merged_records(undisturbed)
    steps = [record for record in records if isinstance(record, StepRecord)]
    assert [record.step for record in steps] == list(range(1, 9))
    # 48 prompts, 12 a step: four steps make an epoch.
    assert [record.epoch for record in steps] == [0, 0, 0, 0, 1, 1, 1, 1]
    # v = 3: α is θ0 in steps 1 and 2, and the weights after step t - 1 from t = 3 and t = 6 on.
    assert [record.rollout_version for record in steps] == [0, 0, 2, 2, 2, 5, 5, 5]
    evaluated = {(r.step, r.dataset) for r in records if isinstance(r, EvaluationRecord)}
    assert evaluated == {(step, name) for step in (0, 4, 8) for name in ("CD-34", "CD-4")}
    tracked = [(r.step, r.replicate) for r in records if isinstance(r, TrackingRecord)]
    assert tracked == [(0, 0), (0, 1), (4, 0), (8, 0)]


def test_what_every_visited_or_held_out_prompt_says_is_kept_once(undisturbed: Path) -> None:
    evaluations = [record for record in merged_records(undisturbed) if isinstance(record, EvaluationRecord)]
    asked = {visit.prompt_id for step in steps_of(undisturbed) for visit in step.prompts}
    asked |= {prompt_id for record in evaluations for prompt_id in record.prompt_ids}
    lines = (undisturbed / "attempt-1" / "samples.jsonl").read_bytes().splitlines()
    kept = [line for line in map(json.loads, lines) if line["type"] == "prompt"]
    assert {line["prompt_id"] for line in kept} == asked
    assert len({line["prompt_id"] for line in kept}) == len(kept)
    assert all(line["prompt"] and line["answer"] for line in kept)


def test_the_composition_adds_up_in_every_step(undisturbed: Path) -> None:
    for record in steps_of(undisturbed):
        counts = record.counts
        assert (
            counts.x1 + (counts.x2 or 0) + (counts.x3 or 0)
            == counts.batch
            == sum(record.batch_histogram)
            <= counts.batch_size
        )
        assert sum(record.fresh_histogram) == counts.fresh == 12
        assert (counts.reevaluated or 0) == (counts.improved or 0) + (counts.solved or 0) + (
            counts.still_difficult or 0
        )
        assert counts.reevaluated == 0 or record.step % 2 == 0
        for visit in record.prompts:
            if visit.source is BatchSource.FRESH:
                assert visit.policy_version == record.rollout_version
            elif visit.source is BatchSource.REEVALUATED:
                # Answered by the weights after step t - 1, never by α.
                assert visit.policy_version == record.step - 1


def test_re_evaluated_and_reused_groups_do_occur(undisturbed: Path) -> None:
    steps = steps_of(undisturbed)
    assert sum((record.counts.reevaluated or 0) for record in steps) > 0
    assert sum((record.counts.x3 or 0) for record in steps) > 0


def test_a_run_that_is_resumed_again_and_again_equals_an_undisturbed_one(undisturbed: Path, tmp_path: Path) -> None:
    # Before α has its own weights, after it got them (v = 3), and with groups in the buffers.
    for after in (1, 4, 6):
        summary = train_until(after, tmp_path, config())
        assert (summary.status, summary.steps) == ("stopped", after)
    summary = train(tmp_path, config())
    assert (summary.status, summary.steps) == ("succeeded", 8)
    assert lines(tmp_path) == lines(undisturbed)


def test_a_call_for_several_steps_draws_the_responses_of_a_call_for_each() -> None:
    settings = config(rollout__batch_size=6)
    task = build_task(settings.task)
    engine = local_engine()(settings, task)
    batches = {step: task.train[6 * step : 6 * step + 6] for step in range(1, 6)}
    ahead = engine.generate_ahead(batches, group_size=8)
    for step, problems in batches.items():
        alone = engine.generate(problems, group_size=8, policy=Policy.ROLLOUT, step=step, purpose="rollout")
        for one, other in zip(ahead[step].groups, alone.groups, strict=True):
            assert one.without_payload() == other.without_payload()
            drawn, expected = one.payload.sampled, other.payload.sampled
            # 240 responses, and none differs; in the larger batch log-probabilities are rounded differently.
            assert drawn.responses() == expected.responses()
            assert (drawn.logprobs - expected.logprobs).abs().max() < 1e-5


def test_a_run_resumed_while_responses_wait_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    undisturbed, resumed = tmp_path / "undisturbed", tmp_path / "resumed"
    settings = config(rollout__ahead="window")
    train(undisturbed, settings)
    # α changes in steps 3 and 6; the checkpoint is that of step 3, and the responses of steps 4 and 5 wait. The journal
    # has step 4, as after a kill; tests/bapo/run/test_look_ahead.py kills a trainer.
    train_until(4, resumed, settings)
    shutil.rmtree(resumed / "checkpoints" / "step-000004")
    assert train(resumed, settings).status == "succeeded"
    assert lines(resumed) == lines(undisturbed)


def test_a_partial_rollout_counts_in_the_step_that_completes_it(partial: Path) -> None:
    steps = steps_of(partial)
    num_begun = 0
    for record in steps:
        segments = record.segments
        assert segments is not None
        num_begun += 12
        num_complete = sum(each.counts.fresh for each in steps[: record.step])
        # A group that is not complete has 1 to 4 unfinished responses.
        assert num_begun - num_complete <= segments.num_unfinished <= 4 * (num_begun - num_complete)
        # With 16 tokens at most, 4 in a step, a response is done three steps after the one that began it.
        assert num_complete >= num_begun - 36
        assert segments.segments_max is None or 1 <= (segments.segments_mean or 0) <= segments.segments_max <= 4
        assert sum(record.fresh_histogram) == record.counts.fresh
        if not record.counts.fresh:
            assert (record.reward_mean, record.response_length_mean) == (None, None)
        fresh = [visit for visit in record.prompts if visit.source is BatchSource.FRESH]
        versions = {visit.policy_version for visit in fresh}
        # α is θ0 in steps 1 and 2, θ2 from step 3 and θ5 from step 6 on.
        assert versions <= {0, 2, 5}
    continued = [record.segments.num_continued for record in steps if record.segments]
    unfinished = [record.segments.num_unfinished for record in steps if record.segments]
    assert continued == [0, *unfinished[:-1]]
    assert any(
        visit.policy_version != record.rollout_version
        for record in steps
        for visit in record.prompts
        if visit.source is BatchSource.FRESH
    )
    first, last = steps[0], steps[-1]
    assert first.counts.fresh < 12
    assert last.cost.num_rollouts == 4 * sum(each.counts.fresh + (each.counts.reevaluated or 0) for each in steps)


def test_a_run_killed_with_unfinished_responses_ends_as_an_undisturbed_one(partial: Path, tmp_path: Path) -> None:
    settings = config(rollout__max_segment_tokens=4)
    # The checkpoint is that of step 3.
    train_and_kill("local", tmp_path, settings, after=4)
    assert train(tmp_path, settings).status == "succeeded"
    assert lines(tmp_path) == lines(partial)


def test_segments_that_no_response_exceeds_change_nothing(undisturbed: Path, tmp_path: Path) -> None:
    train(tmp_path, config(rollout__max_segment_tokens=16))
    assert [line | {"segments": None} for line in lines(tmp_path)] == [
        line | {"segments": None} for line in lines(undisturbed)
    ]


def test_a_fork_with_the_same_config_takes_its_parents_course(undisturbed: Path, tmp_path: Path) -> None:
    begin_fork(tmp_path, undisturbed, ForkOrigin(run_id="parent", step=6))
    assert train(tmp_path, config()).steps == 8
    assert lines(tmp_path) == lines(undisturbed, after=6)


@pytest.mark.parametrize("method", sorted(METHODS.classes))
def test_every_method_trains(tmp_path: Path, method: str) -> None:
    # What is evaluated and tracked does not depend on the method. In step 3 every prompt comes up again.
    short = {**TRAINING_ALONE, "task.num_train": 24, "training.steps": 3}
    settings = config_of(OF_ANY_METHOD, short, {"method.type": method})
    assert train(tmp_path, settings).steps == 3


@pytest.mark.parametrize(
    "own",
    [
        # Several batches of prompts in a step, and responses without their cut ones.
        {"method.type": "dapo", "method.overlong_buffer_tokens": 8},
        # Single responses of stored groups.
        {"method.type": "repo", "method.strategy": "variance", "method.retrieved_responses": 5},
        # Demonstrations in the batch, and in supervised steps for which prompts wait across the resume.
        {"method.type": "luffy"},
        {"method.type": "relift", "method.supervised_batch_size": 5},
    ],
    ids=lambda own: own["method.type"],
)
def test_a_resumed_method_equals_an_undisturbed_one(tmp_path: Path, own: dict[str, Any]) -> None:
    few = {**TRAINING_ALONE, "task.num_train": 24, "training.steps": 4, "training.checkpoint_interval": 2}
    settings = config_of(OF_ANY_METHOD, few, own)
    train(tmp_path / "undisturbed", settings)
    train_until(3, tmp_path / "resumed", settings)
    shutil.rmtree(tmp_path / "resumed" / "checkpoints" / "step-000003")
    train(tmp_path / "resumed", settings)
    assert lines(tmp_path / "resumed") == lines(tmp_path / "undisturbed")


def test_luffy_trains_on_a_demonstration_with_every_group(tmp_path: Path) -> None:
    settings = config_of(OF_ANY_METHOD, TRAINING_ALONE, {"method.type": "luffy", "training.steps": 2})
    train(tmp_path, settings)
    for step in steps_of(tmp_path):
        assert step.update is not None
        assert step.update.demonstrations is not None
        # Countdown's solver finds one for every problem, and none of them is counted as a group.
        assert step.update.demonstrations.num_responses == step.counts.batch == step.counts.x1
        assert 0 < step.update.demonstrations.probability < 1
        assert metrics(step)["bapo/demonstrations/num_responses"] == step.counts.batch
    assert events(tmp_path, "warning") == []


def test_relift_takes_a_supervised_step_once_enough_prompts_were_unsolved(tmp_path: Path) -> None:
    own = {"method.type": "relift", "method.supervised_batch_size": 5, "training.steps": 6}
    train(tmp_path, config_of(OF_ANY_METHOD, TRAINING_ALONE, own))
    steps = steps_of(tmp_path)
    unsolved: set[str] = set()
    first = next(step for step in steps if step.supervised is not None)
    for step in steps[: first.step]:
        assert len(unsolved) < 5
        unsolved |= {visit.prompt_id for visit in step.prompts if not visit.num_correct}
    assert len(unsolved) >= 5
    assert first.supervised is not None
    assert first.supervised.num_responses == 5
    assert first.cost.num_supervised_steps == 1
    assert steps[-1].cost.num_supervised_steps == sum(step.supervised is not None for step in steps)
