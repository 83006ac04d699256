from __future__ import annotations

import json
from random import Random

import pytest

from bapo.posterior import SuccessRates
from bapo.rollout import RolloutGroup


def group(num_correct: int, prompt_id: str = "p") -> RolloutGroup:
    return RolloutGroup(prompt_id, num_correct, 8, 0, 1)


def test_counts_are_added_and_earlier_ones_fade_towards_the_prior() -> None:
    rates = SuccessRates()
    assert rates.parameters("p", 1.0) == (1, 1)
    rates.observe(group(3), decay=0.5, prior=1.0)
    # 0.5·1 + 0.5·1 + 3 and + 5.
    assert rates.parameters("p", 1.0) == (4, 6)
    rates.observe(group(8), decay=0.5, prior=1.0)
    # 0.5·4 + 0.5 + 8 = 10.5 and 0.5·6 + 0.5 + 0 = 3.5.
    assert rates.parameters("p", 1.0) == (10.5, 3.5)
    assert rates.parameters("other", 1.0) == (1, 1)


@pytest.mark.parametrize(("decay", "expected"), [(1, (2 + 3 + 1, 2 + 5 + 7)), (0, (2 + 1, 2 + 7))])
def test_a_decay_of_1_forgets_nothing_and_of_0_everything(decay: float, expected: tuple[float, float]) -> None:
    rates = SuccessRates()
    rates.observe(group(3), decay=decay, prior=2.0)
    rates.observe(group(1), decay=decay, prior=2.0)
    assert rates.parameters("p", 2.0) == expected


def test_draws_follow_the_posterior() -> None:
    rates = SuccessRates()
    rates.observe(group(6), decay=1, prior=1.0)
    random = Random(1)
    draws = [rates.draw("p", 1.0, random) for _ in range(4000)]
    # Beta(7, 3): mean 0.7, variance 0.7·0.3/11 = 0.0191; the mean of 4000 draws has a deviation of 0.0022.
    mean = sum(draws) / len(draws)
    assert mean == pytest.approx(0.7, abs=0.01)
    assert sum((draw - mean) ** 2 for draw in draws) / len(draws) == pytest.approx(0.0191, abs=0.002)


def test_the_state_is_exact() -> None:
    rates, restored = SuccessRates(), SuccessRates()
    for k in (1, 2, 7):
        rates.observe(group(k), decay=1 / 3, prior=0.7)
    restored.load_state_dict(json.loads(json.dumps(rates.state_dict())))
    assert restored.parameters("p", 0.7) == rates.parameters("p", 0.7)
    assert list(rates.state_dict()) == ["p"]
