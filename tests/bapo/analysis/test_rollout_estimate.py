"""Rollouts of a config, counted by hand."""

from __future__ import annotations

from typing import Any

from bapo.analysis.rollout_estimate import RolloutEstimate, rollout_estimate
from bapo.config import RunConfig, apply_changes, resolve


def _config(**changes: Any) -> dict[str, Any]:
    fields = {path.replace("__", "."): value for path, value in changes.items()}
    config: RunConfig = resolve(apply_changes({}, fields)).config
    return config.model_dump(mode="json")


def test_cost_of_the_defaults_by_hand() -> None:
    # 150 steps of 32 prompts, 8 responses each: 38,400 fresh. Re-evaluation every 5 steps, 30 times, of at most
    # min(128, B = 32) prompts: 30 · 32 · 8 = 7,680. Tracking at 0 (twice), 25, 50, 75, 100, 125 and 150:
    # 8 · 128 · 8 = 8,192. Evaluation at 0, 50, 100 and 150, of 2 sets of 200 problems, 8 samples and one greedy each:
    # 4 · 2 · 200 · 9 = 14,400.
    assert rollout_estimate(_config()) == RolloutEstimate(150, 38_400, 7_680, 8_192, 14_400)


def test_cost_without_reevaluation_tracking_and_evaluation() -> None:
    config = _config(method__type="grpo", tracking__num_prompts=0, evaluation__enabled=False)
    assert rollout_estimate(config) == RolloutEstimate(150, 38_400, 0, 0, 0)
    assert rollout_estimate(_config(method__without=["reevaluated"])).reevaluated_at_most == 0


def test_further_rounds_are_bounded_by_the_rounds_of_a_step() -> None:
    # 150 steps of 3 more batches of 32 prompts, 8 responses each.
    planned = rollout_estimate(_config(method__type="dapo"))
    assert (planned.fresh, planned.further_at_most, planned.uncertain) == (38_400, 115_200, 115_200)
    assert rollout_estimate(_config(method__type="dapo", method__max_rounds=1)).further_at_most == 0


def test_cost_of_a_larger_difficult_buffer_is_bounded_by_the_prompts_per_reevaluation() -> None:
    # 150 / 10 = 15 re-evaluations of min(128, 1000) prompts.
    config = _config(method__m=10, method__difficult_buffer__capacity=1000)
    assert rollout_estimate(config).reevaluated_at_most == 15 * 128 * 8


def test_epochs_are_counted_in_steps() -> None:
    # 100 prompts at 32 a step: 4 steps an epoch, the last one smaller.
    config = _config(training__steps=None, training__epochs=3, task__num_train=100)
    assert rollout_estimate(config).steps == 12


def test_a_fork_does_not_count_its_parents_steps() -> None:
    # From step 100 of 150: 50 steps of 32 · 8 = 12,800. Re-evaluation after steps 105, …, 150: 10 of 32 · 8 = 2,560.
    # Tracking at 125 and 150: 2 · 128 · 8 = 2,048. Evaluation at 150: 2 · 200 · 9 = 3,600.
    assert rollout_estimate(_config(), first_step=100) == RolloutEstimate(50, 12_800, 2_560, 2_048, 3_600)


def test_a_warm_start_counts_its_traces_and_both_evaluations() -> None:
    # 64 problems are answered 8 times each: 512. 32 held-out problems, 16 of each set, are answered 4 times, before and
    # after: 256.
    planned = rollout_estimate(_config(warm_start__steps=30))
    assert (planned.warm_start_steps, planned.warm_start_at_most) == (30, 512 + 256)
    # Worked solutions are not generated, and no more problems are answered or evaluated than there are.
    of_solutions = rollout_estimate(_config(warm_start__steps=30, warm_start__source="solutions"))
    assert of_solutions.warm_start_at_most == 256
    # 48 · 8 answers, and 2 · 4 · 8 responses to the 4 problems of each of the two sets.
    small = rollout_estimate(_config(warm_start__steps=30, task__num_train=48, task__num_test=4))
    assert small.warm_start_at_most == 384 + 64
    # A fork continues from its parent's weights and needs no warm start.
    fork = rollout_estimate(_config(warm_start__steps=30), first_step=100)
    assert (fork.warm_start_steps, fork.warm_start_at_most) == (0, 0)
