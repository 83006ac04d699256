"""The loss that verl's workers compute, on nested tensors as verl hands them over."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bapo.config.objective import Aggregation, Objective, ShiftedClip

# In every ./test: the start of verl has imported it already, and on its one rank a wrong scale would be no other loss.
pytestmark = pytest.mark.core
SHARE = 1 / 3


def _nested(rows: list[list[float]]) -> Any:
    import torch  # noqa: PLC0415

    return torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)


def _data(rows: list[dict[str, list[float]]], *, num_tokens: int, num_responses: int, dp_size: int = 1) -> Any:
    import torch  # noqa: PLC0415

    from bapo.engines.verl import loss  # noqa: PLC0415

    names = ("responses", "response_mask", "rollout_log_probs", "advantages")
    return {
        **{name: _nested([row[name] for row in rows]) for name in names},
        "dp_size": dp_size,
        loss.NUM_TOKENS: num_tokens,
        loss.NUM_RESPONSES: num_responses,
        loss.MEASURE_DISTANCE: True,
        loss.SUPERVISED: False,
        loss.SOURCE_FIELD: torch.tensor([0 for _ in rows]),
        # The first row, and rows of padding, which are copies of one.
        loss.ON_POLICY_FIELD: torch.tensor([index != 1 for index in range(len(rows))]),
    }


def _row(length: int, rollout_logprob: float, advantage: float, *, mask: int = 1) -> dict[str, list[float]]:
    return {
        "responses": [1.0] * length,
        "response_mask": [float(mask)] * length,
        "rollout_log_probs": [rollout_logprob] * length,
        "advantages": [advantage] * length,
    }


def _values(metrics: dict[str, Any]) -> dict[str, float]:
    return {name: metric.aggregate() for name, metric in metrics.items()}


def test_a_worked_loss_on_two_responses_and_a_row_of_padding() -> None:
    from bapo.engines.verl.loss import BapoLoss  # noqa: PLC0415

    # Prompts of 2 tokens; the value before a response token predicts it: positions 1 and 2 of 4, position 1 of 3.
    logprobs = _nested([[9.0, -1.0, -2.0, 9.0], [9.0, -0.5, 9.0], [9.0, -7.0, 9.0]])
    entropy = _nested([[9.0, 0.1, 0.2, 9.0], [9.0, 0.3, 9.0], [9.0, 9.0, 9.0]])
    first = {**_row(2, 0.0, 1.0), "rollout_log_probs": [-1.0, -1.5]}
    second = {**_row(1, -1.0, -1.0)}
    data = _data([first, second, _row(1, 0.0, 0.0, mask=0)], num_tokens=3, num_responses=2)
    value, metrics = BapoLoss(Objective())({"log_probs": logprobs, "entropy": entropy}, data)

    # Ratios: e^0 = 1, e^-0.5 = 0.6065 and e^0.5 = 1.6487. Advantage 1: -1 and -0.6065, neither clipped; advantage -1:
    # max(1.6487, 1.2) = 1.6487. Mean over 3 tokens.
    assert float(value) == pytest.approx((-1 - math.exp(-0.5) + math.exp(0.5)) * SHARE, abs=1e-6)
    sums = _values(metrics)
    assert sums["bapo/tokens"] == 3
    assert sums["bapo/loss"] == pytest.approx(float(value))
    assert sums["bapo/entropy"] == pytest.approx(0.6)
    assert sums["bapo/clipped"] == 0
    assert sums["bapo/ratio_largest"] == pytest.approx(math.exp(0.5))
    # 1 lies in [0.98, 1.02), 0.6065 in [0.5, 0.7), 1.6487 in [1.4, 2).
    assert [sums[f"bapo/bin_{index}"] for index in range(13)] == [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]
    # |ρ - 1| of tokens 0, 0.3935, 0.6487; of responses |e^-0.5 - 1| and |e^0.5 - 1|. The row of padding has none.
    distance = (1 - math.exp(-0.5)) + (math.exp(0.5) - 1)
    assert sums["bapo/tv_token_sum_fresh"] == pytest.approx(distance, abs=1e-6)
    assert sums["bapo/tv_token_count_fresh"] == 3
    assert sums["bapo/tv_sequence_sum_fresh"] == pytest.approx(distance, abs=1e-6)
    assert sums["bapo/tv_sequence_count_fresh"] == 2
    assert sums["bapo/tv_token_count_reused"] == 0
    # Of the first response alone, whose differences are 0 and -0.5; e^-0.5 = 0.61 is below 0.8.
    assert [sums[f"bapo/gap_{name}"] for name in ("tokens", "total", "largest", "outside")] == [2, 0.5, 0.5, 1]


def test_a_reference_and_the_policy_before_the_update_come_with_the_rows() -> None:
    from bapo.engines.verl.loss import CURRENT_FIELD, REFERENCE_FIELD, BapoLoss  # noqa: PLC0415

    data = _data([_row(1, -1.0, 1.0), _row(1, 0.0, 0.0, mask=0)], num_tokens=1, num_responses=1)
    data[REFERENCE_FIELD] = _nested([[-2.0], [0.0]])
    data[CURRENT_FIELD] = _nested([[-0.5], [0.0]])
    output = {name: _nested([[9.0, -0.5, 9.0], [9.0, -7.0, 9.0]]) for name in ("log_probs", "entropy")}
    objective = Objective(ShiftedClip(), kl_coefficient=0.1, kl_reference_share=1.0)
    value, metrics = BapoLoss(objective)(output, data)
    # ρ = e^0.5 = 1.6487, as before the update, so that nothing is clipped; ρ·k3 = e^0.5·(e^-1.5 - 1 + 1.5).
    kl = math.exp(0.5) * (math.exp(-1.5) + 0.5)
    assert float(value) == pytest.approx(-math.exp(0.5) + 0.1 * kl)
    assert _values(metrics)["bapo/reference_kl"] == pytest.approx(kl)
    assert _values(metrics)["bapo/clipped"] == 0


def test_a_demonstrations_row_has_a_shaped_weight_and_sums_of_its_own() -> None:
    import torch  # noqa: PLC0415

    from bapo.engines.verl.loss import GIVEN, SOURCE_FIELD, BapoLoss  # noqa: PLC0415

    data = _data([_row(1, -1.0, 1.0), _row(2, 0.0, 2.0), _row(1, 0.0, 0.0, mask=0)], num_tokens=3, num_responses=2)
    # The row of padding is a copy of the demonstration's.
    data[SOURCE_FIELD] = torch.tensor([0, GIVEN, GIVEN])
    chances = [[9.0, -1.0, 9.0], [9.0, math.log(0.1), math.log(0.3), 9.0], [9.0, -7.0, 9.0]]
    output = {"log_probs": _nested(chances), "entropy": _nested([[0.5] * len(row) for row in chances])}
    value, metrics = BapoLoss(Objective(demonstration_shaping=0.1))(output, data)
    # The response has ρ = 1. The demonstration has 0.1/0.2 and 0.3/0.4, times its advantage of 2.
    assert float(value) == pytest.approx((-1 - 2 * 0.5 - 2 * 0.75) * SHARE)
    sums = _values(metrics)
    assert [sums[f"bapo/{name}"] for name in ("tokens", "entropy", "tv_token_count_fresh", "gap_tokens")] == [
        1,
        0.5,
        1,
        1,
    ]
    assert sums["bapo/given_tokens"] == 2
    assert sums["bapo/given_loss"] == pytest.approx(-2.5)
    assert sums["bapo/given_probability"] == pytest.approx(0.4)


def test_a_supervised_step_takes_the_mean_cross_entropy_of_its_tokens() -> None:
    from bapo.engines.verl.loss import NUM_TOKENS, SUPERVISED, BapoLoss  # noqa: PLC0415

    rows = [_row(2, 0.0, 0.0), _row(1, 0.0, 0.0), _row(1, 0.0, 0.0, mask=0)]
    data = {**_data(rows, num_tokens=3, num_responses=2), SUPERVISED: True, NUM_TOKENS: 3}
    logprobs = _nested([[9.0, -1.0, -2.0, 9.0], [9.0, -0.6, 9.0], [9.0, -7.0, 9.0]])
    value, metrics = BapoLoss(Objective())({"log_probs": logprobs}, data)
    assert float(value) == pytest.approx(1.2)
    assert _values(metrics) == {"bapo/loss": pytest.approx(1.2)}


def test_parts_on_two_ranks_add_up_to_the_whole_after_averaging() -> None:
    from bapo.engines.verl.loss import BapoLoss  # noqa: PLC0415

    rows = [_row(3, -1.0, 0.5), _row(1, -2.0, -0.5)]
    logprobs = [[9.0, -1.2, -1.0, -0.8, 9.0], [9.0, -1.7, 9.0]]
    aggregation: Aggregation
    for aggregation in ("token-mean", "response-mean"):
        loss = BapoLoss(Objective(kl_coefficient=0.1, entropy_coefficient=0.1, aggregation=aggregation))

        def value(indices: list[int], dp_size: int, loss: BapoLoss = loss) -> float:
            output = {name: _nested([logprobs[index] for index in indices]) for name in ("log_probs", "entropy")}
            data = _data([rows[index] for index in indices], num_tokens=4, num_responses=2, dp_size=dp_size)
            return float(loss(output, data)[0])

        # verl takes the mean over ranks.
        assert (value([0], 2) + value([1], 2)) / 2 == pytest.approx(value([0, 1], 1), abs=1e-6)


def test_our_advantage_estimator_is_registered_and_follows_equation_2() -> None:
    import numpy as np  # noqa: PLC0415
    import torch  # noqa: PLC0415
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn  # noqa: PLC0415

    from bapo.engines.verl.trainer import ADVANTAGE_ESTIMATOR  # noqa: PLC0415

    rewards = torch.tensor([[0.0, 1.0], [0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    mask = torch.tensor([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    groups = np.array(["a", "b", "a", "b", "a"], dtype=object)
    advantages, _ = get_adv_estimator_fn(ADVANTAGE_ESTIMATOR)(
        token_level_rewards=rewards, response_mask=mask, config=None, index=groups
    )
    # Group a: rewards 1, 1, 0 with mean 2/3 and population variance 2/9: (1 - 2/3)/0.4714 = 0.7071, -1.4142.
    # Group b: rewards 0, 1: -1 and 1.
    assert advantages[:, 0].tolist() == pytest.approx([0.7071, -1.0, 0.7071, 1.0, -1.4142], abs=1e-4)
    assert advantages[1].tolist() == pytest.approx([-1.0, 0.0], abs=1e-5)
