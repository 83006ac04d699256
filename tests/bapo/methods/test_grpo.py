from __future__ import annotations

import json
from typing import Any

import pytest

from bapo.config import RunConfig, resolve
from bapo.methods import build_method
from bapo.methods.grpo import Grpo, GrpoDelayed
from bapo.rollout import BatchSource, RolloutGroup


def config(method: dict[str, Any], *, batch_size: int = 4) -> RunConfig:
    return resolve({"method": method, "training": {"steps": 9, "batch_size": batch_size}}).config


def grpo(*, batch_size: int = 4) -> Grpo:
    return Grpo(config({"type": "grpo"}, batch_size=batch_size))


def groups(*num_correct: int) -> list[RolloutGroup]:
    return [RolloutGroup(f"p{i}", k, 8, 0, 1) for i, k in enumerate(num_correct)]


def test_every_fresh_group_is_trained_on_equal_rewards_included() -> None:
    method = grpo()
    method.observe_fresh(1, groups(0, 3, 8))
    batch = method.compose(1, ())
    assert [item.group.num_correct for item in batch.items] == [0, 3, 8]
    assert {item.source for item in batch.items} == {BatchSource.FRESH}
    assert (batch.counts.fresh, batch.counts.x1, batch.counts.batch, batch.counts.fill_rate) == (3, 3, 3, 0.75)
    assert all(visit.in_batch and visit.reason is None for visit in batch.visits)


def test_groups_beyond_the_batch_size_find_no_room() -> None:
    method = grpo(batch_size=2)
    method.observe_fresh(1, groups(1, 2, 3))
    batch = method.compose(1, ())
    assert [item.group.num_correct for item in batch.items] == [1, 2]
    assert [(visit.prompt_id, visit.reason) for visit in batch.visits] == [
        ("p0", None),
        ("p1", None),
        ("p2", "no_room"),
    ]
    assert batch.counts.fill_rate == 1


def test_nothing_is_answered_again_and_nothing_is_stored() -> None:
    method = grpo()
    method.observe_fresh(1, groups(0, 0))
    assert method.prompts_to_reevaluate(1) == ()
    assert method.stored_groups() == ()
    assert method.buffers(1) == (None, None)


def test_grpo_synchronises_before_every_step() -> None:
    method = grpo()
    assert all(method.syncs_rollout_policy(step) for step in range(1, 10))


@pytest.mark.parametrize(("v", "synchronised"), [(1, [1, 2, 3, 4, 5, 6]), (2, [2, 4, 6]), (5, [5]), (7, [])])
def test_grpo_delayed_synchronises_where_v_divides_the_step(v: int, synchronised: list[int]) -> None:
    method = build_method(config({"type": "grpo_delayed", "v": v}))
    assert [step for step in range(1, 7) if method.syncs_rollout_policy(step)] == synchronised


def test_r_tot_is_recorded_without_thresholds() -> None:
    method = grpo()
    assert method.thresholds().r_tot == 0
    method.observe_fresh(1, groups(2, 6))
    method.finish_step(1)
    # 8 of 16 responses.
    values = method.thresholds()
    assert values.r_tot == 0.5
    assert values.c1 is values.c2 is values.reusable_min_count is None


def test_a_restored_method_has_its_r_tot() -> None:
    method, restored = grpo(), grpo()
    method.observe_fresh(1, groups(2, 6, 1))
    method.finish_step(1)
    restored.load_state_dict(json.loads(json.dumps(method.state_dict())), ())
    assert restored.thresholds() == method.thresholds()


def test_a_changed_v_holds_from_the_next_step() -> None:
    method = GrpoDelayed(config({"type": "grpo_delayed", "v": 5}))
    method.reconfigure(config({"type": "grpo_delayed", "v": 3}))
    assert [step for step in range(1, 7) if method.syncs_rollout_policy(step)] == [3, 6]
