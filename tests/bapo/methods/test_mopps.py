"""Prompts chosen by drawn success rates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bapo.config import resolve
from bapo.methods.mopps import Mopps
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem

POOL = [Problem(f"p{i:03d}", "source", f"prompt {i}", {}) for i in range(100)]


def mopps(*, seed: int = 1, **method: Any) -> Mopps:
    explicit = {"method": {"type": "mopps", **method}, "training": {"steps": 9, "batch_size": 4, "seed": seed}}
    return Mopps(resolve(explicit).config)


def group(prompt_id: str, num_correct: int, step: int = 1) -> RolloutGroup:
    return RolloutGroup(prompt_id, num_correct, 8, step - 1, step)


def chosen(method: Mopps, step: int, number: int = 4, pool: Sequence[Problem] = POOL) -> list[str]:
    return [problem.prompt_id for problem in method.choose_prompts(step, pool[:number], pool)]


def believe(method: Mopps, num_correct: dict[str, int], times: int) -> None:
    for _ in range(times):
        method.observe_fresh(1, [group(prompt_id, k) for prompt_id, k in num_correct.items()])


def test_as_many_prompts_as_are_due_none_of_them_twice() -> None:
    for number in (1, 3, 4, 32):
        prompts = chosen(mopps(), 1, number)
        assert len(prompts) == len(set(prompts)) == number
    # Fewer problems than candidates asked for: all of them are candidates.
    assert set(chosen(mopps(candidates=1000), 1, 5, POOL[:5])) == {problem.prompt_id for problem in POOL[:5]}


def test_prompts_believed_near_the_target_are_preferred() -> None:
    # 400 answers each and nothing forgotten: the draws lie within a few hundredths of 0, 1/2 and 1.
    method = mopps(decay=1, candidates=1000)
    kinds = {problem.prompt_id: (0, 4, 8)[i % 3] for i, problem in enumerate(POOL)}
    believe(method, kinds, times=50)
    assert {kinds[prompt_id] for prompt_id in chosen(method, 2, 30)} == {4}
    hard = mopps(decay=1, candidates=1000, target_accuracy=0.01)
    believe(hard, kinds, times=50)
    assert {kinds[prompt_id] for prompt_id in chosen(hard, 2, 30)} == {0}


def test_candidates_bound_what_can_be_preferred() -> None:
    # One candidate for each prompt: nothing to choose from, four random problems.
    method = mopps(candidates=1, decay=1)
    believe(method, {problem.prompt_id: 0 for problem in POOL[:50]}, times=50)
    prompts = {prompt_id for step in range(1, 40) for prompt_id in chosen(method, step)}
    assert len(prompts & {problem.prompt_id for problem in POOL[:50]}) > 25


def test_draws_depend_on_seed_and_step_alone() -> None:
    method, other = mopps(), mopps()
    chosen(other, 1)
    assert chosen(method, 2) == chosen(other, 2) != chosen(method, 3)
    assert chosen(mopps(seed=2), 2) != chosen(method, 2)


def test_a_restored_method_chooses_alike() -> None:
    method, restored = mopps(decay=0.3), mopps(decay=0.3)
    for step in (1, 2, 3):
        fresh = [group(prompt_id, (step + i) % 9, step) for i, prompt_id in enumerate(chosen(method, step))]
        method.observe_fresh(step, fresh)
        method.finish_step(step)
    state = json.loads(json.dumps(method.state_dict()))
    restored.load_state_dict(state, ())
    assert all(chosen(method, step, 20) == chosen(restored, step, 20) for step in (4, 5, 6))
    # Prompts that were answered, and no others.
    assert 4 <= len(state["success_rates"]) <= 12


def test_it_trains_as_grpo_does() -> None:
    method = mopps()
    method.observe_fresh(1, [group("a", 0), group("b", 8), group("c", 3)])
    batch = method.compose(1, ())
    assert [(item.group.prompt_id, item.source) for item in batch.items] == [
        ("a", BatchSource.FRESH), ("b", BatchSource.FRESH), ("c", BatchSource.FRESH),
    ]  # fmt: skip
    assert all(method.syncs_rollout_policy(step) for step in (1, 2, 3))
    assert not method.wants_more_prompts(1, [])


def test_a_changed_target_holds_from_the_next_step() -> None:
    method = mopps(decay=1, candidates=1000)
    kinds = {problem.prompt_id: (0, 8)[i % 2] for i, problem in enumerate(POOL)}
    believe(method, kinds, times=50)
    explicit = {"method": {"type": "mopps", "candidates": 1000, "target_accuracy": 0.99}, "training": {"steps": 9}}
    method.reconfigure(resolve(explicit).config)
    assert {kinds[prompt_id] for prompt_id in chosen(method, 2, 10)} == {8}
