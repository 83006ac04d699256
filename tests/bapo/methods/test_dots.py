from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from bapo.config import RunConfig
from bapo.difficulty_predictor import predicted_accuracies, text_features
from bapo.methods import build_method
from bapo.methods.base import ComposedBatch, Method
from bapo.methods.dots import Dots
from bapo.tasks.base import Problem
from tests.bapo.methods.replaying import config, group, resumed, reused, take_step

EASY = [Problem(f"e{i:02d}", "source", f"add {i} and {i + 1}", {}) for i in range(30)]
EVEN = [Problem(f"m{i:02d}", "source", f"multiply three numbers: {i} {i} {i}", {}) for i in range(30)]
HARD = [Problem(f"h{i:02d}", "source", f"find the integral of function number {i}", {}) for i in range(30)]
POOL = EASY + EVEN + HARD
REWARDS = {"e": "1111", "m": "0101", "h": "0000"}


def settings(**method: Any) -> RunConfig:
    return config({"type": "dots", **method}, batch_size=10, rollout_size=10)


def run_step(method: Method, step: int) -> ComposedBatch:
    scheduled = [POOL[(place * 7 + step) % len(POOL)] for place in range(10)]
    chosen = method.choose_prompts(step, scheduled, POOL)
    assert len({problem.prompt_id for problem in chosen}) == len(chosen)
    return take_step(method, step, [group(each.prompt_id, REWARDS[each.prompt_id[0]], step) for each in chosen])


def test_the_first_step_rolls_out_what_is_due() -> None:
    method = Dots(settings())
    assert method.choose_prompts(1, EASY[:10], POOL) == EASY[:10]


def test_prompts_that_resemble_half_solved_ones_are_chosen() -> None:
    method = Dots(settings(candidates=9))
    run_step(method, 1)
    kinds = Counter(
        item.group.prompt_id[0]
        for step in range(2, 8)
        for item in run_step(method, step).items
        if not reused_item(item)
    )
    # A third of the pool is of each kind.
    assert kinds["m"] > 0.9 * kinds.total()


def reused_item(item: Any) -> bool:
    return bool(item.source == "reused")


def test_a_high_temperature_chooses_at_random() -> None:
    method = Dots(settings(candidates=9, selection_temperature=100))
    kinds: Counter[str] = Counter()
    for step in range(1, 12):
        kinds.update(visit.prompt_id[0] for visit in run_step(method, step).visits if visit.source == "fresh")
    assert min(kinds.values()) > 0.2 * kinds.total()


def test_prompts_are_drawn_with_chances_that_fall_with_the_distance_to_the_target() -> None:
    # One prompt of each step from a pool of six, all of them candidates, which nothing observed changes on the way.
    chosen = config(
        {"type": "dots", "candidates": 6, "target_accuracy": 0.9, "selection_temperature": 0.25},
        batch_size=1,
        rollout_size=1,
    )
    method = Dots(chosen)
    pool = [*EASY[:2], *EVEN[:2], *HARD[:2]]
    take_step(method, 1, [group(each.prompt_id, REWARDS[each.prompt_id[0]], 1) for each in pool])
    features = np.array([text_features(each.prompt) for each in pool])
    predicted = predicted_accuracies(features, features, [1.0, 1.0, 0.5, 0.5, 0.0, 0.0])
    # exp(-|p̂ - γ*|/τ) with γ* = 0.9 and τ = 1/4, over their sum (arXiv:2506.05316).
    weights = np.exp(-4 * np.abs(predicted - 0.9))
    expected = dict(zip((each.prompt_id for each in pool), (weights / weights.sum()).tolist(), strict=True))
    num_draws = 1_500
    drawn = Counter(method.choose_prompts(step, [], pool)[0].prompt_id for step in range(2, 2 + num_draws))
    for prompt_id, chance in expected.items():
        # Three standard deviations of a share of so many draws.
        assert drawn[prompt_id] / num_draws == pytest.approx(chance, abs=3 * (chance * (1 - chance) / num_draws) ** 0.5)


def test_another_target_asks_for_other_prompts() -> None:
    method = Dots(settings(candidates=9, target_accuracy=0.99))
    run_step(method, 1)
    visits = run_step(method, 2).visits
    assert {visit.prompt_id[0] for visit in visits if visit.source == "fresh"} == {"e"}


@pytest.mark.parametrize(("fresh_share", "num_fresh"), [(0.5, 6), (0.7, 7), (0.25, 6), (1, 10)])
def test_the_rest_of_the_batch_comes_from_the_buffer(fresh_share: float, num_fresh: int) -> None:
    method = Dots(settings(fresh_share=fresh_share))
    first = run_step(method, 1)
    # Of the prompts due in the first step four are half solved: less than shares of 0.5 and 0.25 leave room for.
    assert (first.counts.x1, len(method.stored_groups())) == (10, 4)
    second = run_step(method, 2)
    assert second.counts.x1 == num_fresh
    # One of the prompts chosen may be among the stored ones.
    assert (second.counts.x3 or 0) == min(second.counts.x3_candidates or 0, 10 - num_fresh)


def test_only_valid_groups_are_stored_first_in_first_out() -> None:
    method = Dots(settings(capacity=3))
    fresh = [group("a", "0000", 1), group("b", "0001", 1), group("c", "1111", 1), group("d", "0111", 1)]
    take_step(method, 1, fresh)
    assert [each.prompt_id for each in method.stored_groups()] == ["b", "d"]
    take_step(method, 2, [group("e", "0011", 2), group("b", "0011", 2)])
    # b's newer group takes the place of the older one, at the end.
    assert [(each.prompt_id, each.step) for each in method.stored_groups()] == [("d", 1), ("e", 2), ("b", 2)]
    take_step(method, 3, [group("f", "0011", 3)])
    assert [each.prompt_id for each in method.stored_groups()] == ["e", "b", "f"]


def test_the_buffer_holds_as_many_groups_as_the_batch_by_default() -> None:
    state = Dots(settings()).buffers(1)[1]
    assert state is not None
    assert state.capacity == 10


def test_a_prompt_rolled_out_today_is_not_reused_today() -> None:
    method = Dots(settings())
    take_step(method, 1, [group("a", "0011", 1), group("b", "0011", 1)])
    assert reused(take_step(method, 2, [group("a", "0111", 2)])) == [("b", 1, None)]


def test_a_resumed_method_chooses_and_composes_alike() -> None:
    # Fewer references than are answered, so that some have been forgotten.
    chosen = settings(reference_prompts=12)
    method = build_method(chosen)
    for step in (1, 2, 3):
        run_step(method, step)
    copy = resumed(method, chosen)
    for step in (4, 5, 6):
        assert run_step(copy, step) == run_step(method, step)
        assert copy.buffers(step) == method.buffers(step)
    assert copy.state_dict() == method.state_dict()
