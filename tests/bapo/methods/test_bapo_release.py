"""The rules of BAPO's released code, by hand: G = 8 and c1 = 1/8."""

from __future__ import annotations

from fractions import Fraction

from bapo.config import resolve
from bapo.config.objective import DecoupledClip
from bapo.config.recipes import load_recipe
from bapo.methods import build_method
from bapo.methods.bapo_release import BapoRelease, BapoReleaseConfig
from bapo.rollout import BatchSource, RolloutGroup
from bapo.thresholds import Thresholds

FEW = {"method": {"type": "bapo_release", "m": 1, "max_reevaluated_prompts": 3}, "training": {"steps": 9}}


def group(prompt_id: str, num_correct: int, step: int) -> RolloutGroup:
    return RolloutGroup(prompt_id, num_correct, 8, step - 1, step)


def test_x2_is_what_rose_above_its_stored_accuracy_and_nothing_leaves() -> None:
    method = build_method(resolve(FEW).config)
    assert isinstance(method, BapoRelease)
    method.observe_fresh(1, [group("a", 0, 1), group("b", 0, 1), group("c", 1, 1)])
    method.finish_step(1)
    method.observe_fresh(2, [group("n", 4, 2)])
    assert sorted(method.prompts_to_reevaluate(2)) == ["a", "b", "c"]
    # a rose from 0 to 1, though 1/8 is no more than c1; b is solved; c stayed where it was.
    batch = method.compose(2, [group("a", 1, 2), group("b", 8, 2), group("c", 1, 2)])
    assert {item.group.prompt_id for item in batch.items if item.source is BatchSource.REEVALUATED} == {"a", "b"}
    assert (batch.counts.improved, batch.counts.solved, batch.counts.still_difficult) == (2, 0, 1)
    assert method.state_dict()["difficult_buffer"]["prompts"] == [["a", 0, 1], ["b", 0, 1], ["c", 1, 1]]


def test_prompts_are_drawn_at_random_without_those_rolled_out_fresh() -> None:
    method = build_method(resolve(FEW).config)
    names = [f"p{index}" for index in range(20)]
    method.observe_fresh(1, [group(name, 0, 1) for name in names])
    drawn = []
    for step in range(2, 12):
        method.observe_fresh(step, [group("p0", 0, step)])
        drawn.append(tuple(method.prompts_to_reevaluate(step)))
        assert len(set(drawn[-1])) == 3
        assert "p0" not in drawn[-1]
    assert len(set(drawn)) == 10


def test_thresholds_fall_as_the_released_equation_does_between_its_ends() -> None:
    config = resolve(load_recipe("bapo-release").explicit).config
    method = config.method
    assert isinstance(method, BapoReleaseConfig)
    for percent, window in ((20, (4 / 8, 5 / 8)), (80, (1 / 8, 2 / 8))):
        at = Thresholds.at(Fraction(percent, 100), c1=method.c1, c2=method.c2, c3=method.c3, group_size=8)
        assert (at.c2, at.c3) == window


def test_the_recipe_has_the_released_loss() -> None:
    objective = resolve(load_recipe("bapo-release").explicit).config.objective
    assert objective.surrogate == DecoupledClip(0.2, 0.28, dual_clip=10, cap=3)
    assert objective.sample_deviation
