from __future__ import annotations

from typing import Any

import pytest

from bapo.config import RunConfig
from bapo.methods import build_method
from bapo.methods.base import Method
from bapo.methods.remix import Remix
from bapo.tasks.base import Problem
from tests.bapo.methods.replaying import config, group, resumed, reused, take_step

POOL = [Problem(f"p{i:02d}", "source", f"prompt {i}", {}) for i in range(40)]


def settings(*, batch_size: int = 5, rollout_size: int = 5, **method: Any) -> RunConfig:
    return config({"type": "remix", **method}, batch_size=batch_size, rollout_size=rollout_size)


def run_step(method: Method, step: int, num_scheduled: int = 5) -> Any:
    scheduled = POOL[(step - 1) * num_scheduled :][:num_scheduled]
    chosen = method.choose_prompts(step, scheduled, POOL)
    return take_step(method, step, [group(problem.prompt_id, "0011", step) for problem in chosen])


def test_a_fixed_share_comes_from_the_buffer_and_only_the_rest_is_rolled_out() -> None:
    method = Remix(settings(reused_share=0.4))
    first, second = run_step(method, 1), run_step(method, 2)
    # Nothing is stored before the first step; then 0.4 · 5 = 2.
    assert (first.counts.fresh, first.counts.x1, first.counts.x3) == (5, 5, 0)
    assert (second.counts.fresh, second.counts.x1, second.counts.x3, second.counts.fill_rate) == (3, 3, 2, 1.0)
    assert {step for _, step, _ in reused(second)} == {1}


@pytest.mark.parametrize(
    ("share", "batch_size", "num_reused"),
    # round(share · B), half up; one prompt at least is rolled out.
    [(0.4, 5, 2), (0.5, 5, 3), (0.3, 5, 2), (0.29, 5, 1), (0.0, 5, 0), (0.9, 5, 4)],
)
def test_the_share_is_rounded_half_up(share: float, batch_size: int, num_reused: int) -> None:
    method = Remix(settings(reused_share=share, batch_size=batch_size))
    run_step(method, 1)
    assert run_step(method, 2).counts.x3 == num_reused


def test_a_prompt_rolled_out_today_is_not_reused_today() -> None:
    method = Remix(settings())
    take_step(method, 1, [group("a", "0011", 1), group("b", "0011", 1)])
    batch = take_step(method, 2, [group("a", "0111", 2)])
    assert reused(batch) == [("b", 1, None)]
    assert batch.counts.x3_candidates == 1


@pytest.mark.parametrize(("max_age_steps", "generated"), [(1, {3}), (2, {2, 3}), (None, {1, 2, 3})])
def test_only_groups_of_the_last_n_steps_are_reused(max_age_steps: int | None, generated: set[int]) -> None:
    method = Remix(settings(max_age_steps=max_age_steps, batch_size=5))
    for step in (1, 2, 3):
        take_step(method, step, [group(f"{step}{each}", "0011", step) for each in "ab"])
    assert {each.step for each in method.stored_groups()} == generated


def test_equal_rewards_are_stored_too() -> None:
    method = Remix(settings())
    take_step(method, 1, [group("a", "0000", 1), group("b", "1111", 1)])
    assert [each.prompt_id for each in method.stored_groups()] == ["a", "b"]


def test_after_reincarnation_every_batch_is_fresh_current_and_used_once() -> None:
    method = Remix(settings(reincarnation_step=2, v=3, updates_per_batch=4))
    counts = [run_step(method, step).counts for step in (1, 2, 3, 4)]
    assert [each.x3 for each in counts] == [0, 2, 0, 0]
    assert [each.x1 for each in counts] == [5, 3, 5, 5]
    assert [method.num_passes(step) for step in (1, 2, 3, 4)] == [4, 4, 1, 1]
    assert [method.syncs_rollout_policy(step) for step in (1, 2, 3, 4)] == [False, False, True, True]
    # Nothing new is stored, and the old ages out.
    assert method.stored_groups() == []


def test_without_a_reincarnation_step_training_stays_mixed() -> None:
    method = Remix(settings(reincarnation_step=None))
    run_step(method, 1)
    assert method.num_passes(10**6) == 2
    assert run_step(method, 2).counts.x3 == 2


def test_the_draw_depends_on_seed_and_step_alone_so_that_a_resumed_method_goes_on_alike() -> None:
    chosen = settings(max_age_steps=3)
    method = build_method(chosen)
    for step in (1, 2):
        run_step(method, step)
    copy = resumed(method, chosen)
    for step in (3, 4, 5):
        assert run_step(copy, step) == run_step(method, step)
        assert copy.buffers(step) == method.buffers(step)
