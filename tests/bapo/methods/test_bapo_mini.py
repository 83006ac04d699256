"""BAPO without thresholds (arXiv:2602.20722, §5.2), by hand: G = 4, all wrong is 0/4, exactly half is 2/4."""

from __future__ import annotations

from bapo.config import resolve
from bapo.methods.bapo import Bapo, bapo_config
from bapo.methods.bapo_mini import BapoMini
from bapo.methods.base import ComposedBatch
from bapo.rollout import BatchSource, RolloutGroup


def mini(*, m: int = 1, batch_size: int = 8) -> Bapo:
    explicit = {
        "method": {"type": "bapo_mini", "m": m, "difficult_buffer": {"capacity": 9}},
        "rollout": {"group_size": 4},
        "training": {"steps": 9, "batch_size": batch_size},
    }
    return BapoMini(resolve(explicit).config)


def group(prompt_id: str, num_correct: int, step: int) -> RolloutGroup:
    return RolloutGroup(prompt_id, num_correct, 4, step - 1, step)


def run_step(method: Bapo, step: int, fresh: dict[str, int], answers: dict[str, int] | None = None) -> ComposedBatch:
    method.observe_fresh(step, [group(*entry, step) for entry in fresh.items()])
    assert list(method.prompts_to_reevaluate(step)) == list(answers or {})
    batch = method.compose(step, [group(*entry, step) for entry in (answers or {}).items()])
    method.finish_step(step)
    return batch


def trained(batch: ComposedBatch, source: BatchSource) -> dict[str, int]:
    return {item.group.prompt_id: item.group.num_correct for item in batch.items if item.source is source}


def test_x1_drops_groups_without_advantage_only() -> None:
    batch = run_step(mini(), 1, {"k0": 0, "k1": 1, "k2": 2, "k3": 3, "k4": 4})
    assert trained(batch, BatchSource.FRESH) == {"k1": 1, "k2": 2, "k3": 3}


def test_all_wrong_prompts_are_answered_again_and_kept_where_mixed() -> None:
    method = mini(m=2)
    run_step(method, 1, {"a": 0, "b": 0, "c": 0, "d": 1})
    # d had one right, so it is not difficult. 1/4 and 3/4 are kept, 0/4 stays, 4/4 is solved.
    batch = run_step(method, 2, {"n": 4}, {"a": 1, "b": 4, "c": 0})
    assert trained(batch, BatchSource.REEVALUATED) == {"a": 1}
    assert (batch.counts.improved, batch.counts.solved, batch.counts.still_difficult) == (1, 1, 1)
    assert [entry[0] for entry in method.state_dict()["difficult_buffer"]["prompts"]] == ["c"]


def test_only_accuracy_exactly_one_half_is_reused() -> None:
    method = mini(m=9)
    run_step(method, 1, {"k1": 1, "k2": 2, "k3": 3})
    assert trained(run_step(method, 2, {"n": 0}), BatchSource.REUSED) == {"k2": 2}


def test_r_tot_moves_no_threshold() -> None:
    method = mini(m=9)
    run_step(method, 1, {"a": 4, "b": 4})
    values = method.thresholds()
    assert (values.r_tot, values.c1, values.c2, values.c3) == (1.0, 0.0, 0.5, 0.5)
    assert (values.difficult_max_count, values.reusable_min_count, values.reusable_max_count) == (0, 2, 2)


def test_intervals_and_buffers_are_its_own() -> None:
    explicit = {
        "method": {"type": "bapo_mini", "v": 3, "m": 4, "max_reevaluated_prompts": 6},
        "training": {"steps": 1},
    }
    method = bapo_config(resolve(explicit).config)
    assert (method.v, method.m, method.max_reevaluated_prompts) == (3, 4, 6)
    assert method.filter.type == "range"
    assert method.without == frozenset()
