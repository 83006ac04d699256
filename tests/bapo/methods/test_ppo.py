from __future__ import annotations

from typing import Any

from bapo.config import RunConfig, resolve
from bapo.methods import build_method
from bapo.methods.bapo import Bapo
from bapo.methods.ppo import Ppo
from bapo.rollout import RolloutGroup


def config(method: dict[str, Any]) -> RunConfig:
    return resolve({"method": method, "training": {"steps": 9, "batch_size": 8}}).config


def groups(*num_correct: int) -> list[RolloutGroup]:
    return [RolloutGroup(f"p{i}", k, 8, 0, 1) for i, k in enumerate(num_correct)]


def test_ppo_trains_on_every_fresh_group_of_the_current_policy() -> None:
    method = build_method(config({"type": "ppo"}))
    assert isinstance(method, Ppo)
    assert all(method.syncs_rollout_policy(step) for step in range(1, 5))
    method.observe_fresh(1, groups(0, 3, 8))
    items = method.compose(1, ()).items
    assert [item.group.num_correct for item in items] == [0, 3, 8]
    # Its advantages are the critic's to give.
    assert {item.advantages for item in items} == {None}


def test_ppo_passes_over_its_batch_as_often_as_it_is_told() -> None:
    assert build_method(config({"type": "ppo"})).num_passes(1) == 1
    method = build_method(config({"type": "ppo", "epochs": 3}))
    assert method.num_passes(1) == 3
    method.reconfigure(config({"type": "ppo", "epochs": 2}))
    assert method.num_passes(2) == 2


def test_ba_ppo_builds_its_batches_as_bapo() -> None:
    batches = []
    for kind in ("bapo", "ba_ppo"):
        method = build_method(config({"type": kind, "c2": ["1/8", "1/8"], "c3": ["1/2", "1/2"]}))
        assert isinstance(method, Bapo)
        for step, fresh in ((1, groups(0, 3, 8, 1)), (2, groups(8, 5))):
            method.observe_fresh(step, fresh)
            batch = method.compose(step, ())
            method.finish_step(step)
        batches.append([(item.group.prompt_id, item.source, item.advantages) for item in batch.items])
        assert method.syncs_rollout_policy(5)
        assert not method.syncs_rollout_policy(4)
        assert method.num_passes(1) == 1
    # X1: p1 with 5 of 8; X3: p3 with 1 of 8 of step 1. p1 of step 1 is in X1 already, p0 of step 1 was all wrong.
    assert [(prompt, str(source)) for prompt, source, _ in batches[0]] == [("p1", "fresh"), ("p3", "reused")]
    assert batches[0] == batches[1]
