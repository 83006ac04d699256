from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from bapo.config import RunConfig
from bapo.config.resolve import apply_changes
from bapo.records import UpdateStats
from bapo.rollout import BatchSource
from bapo.theory import bound_constant, improvement_bound
from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel

    from bapo.engines.local import forward, update
    from bapo.engines.local.batches import TrainingGroup, mini_batches, training_group
    from bapo.engines.local.forward import response_logprobs
    from bapo.engines.local.supervised import Example
    from bapo.engines.local.update import Updater
    from bapo.losses import LossInputs, policy_loss, token_weights

MIXED = [1, 0, 0, 1]


def run_config(**changes: Any) -> RunConfig:
    """Plain gradient: nothing is scaled down by its norm unless the test asks for it."""
    settings = {"training.max_grad_norm": 1e9, "training.learning_rate": 0.01, "method.type": "grpo"}
    settings |= {name.replace("__", "."): value for name, value in changes.items()}
    return RunConfig.model_validate(apply_changes({"training": {"steps": 1}}, settings))


@pytest.fixture
def groups(toy_model: PreTrainedModel, random_payload: Any, make_payload: Any) -> list[TrainingGroup]:
    """Two prompt lengths, three sources, ratios about 1; the third and the fifth group are homogeneous."""
    rewards = [MIXED, [0, 1, 1, 1], [0] * 4, MIXED, [1] * 4, [0, 0, 0, 1]]
    sources = [BatchSource.FRESH] * 3 + [BatchSource.REEVALUATED] + [BatchSource.REUSED] * 2
    noise = torch.Generator().manual_seed(0)
    made = []
    for seed, (each, source) in enumerate(zip(rewards, sources, strict=True)):
        payload = random_payload(seed, prompt_length=4 + seed % 2, max_length=7, rewards=each)
        logprobs, _ = response_logprobs(toy_model, [payload], temperature=1.0, entropy_gradient=False)
        logprobs = logprobs.detach() + 0.3 * torch.randn(len(logprobs), generator=noise)
        responses = payload.sampled.responses()
        payload = make_payload(list(payload.prompt), responses, each, logprobs=logprobs.tolist())
        made.append(training_group(payload, source))
    return made


def reference_loss(
    model: PreTrainedModel,
    groups: Sequence[TrainingGroup],
    config: RunConfig,
    reference: PreTrainedModel | None = None,
) -> Tensor:
    """The mini-batch's loss with nothing shared, skipped or split."""
    logprobs, entropies = plain_logprobs(model, groups, config)
    lengths = [length for group in groups for length in group.payload.sampled.lengths]
    inputs = LossInputs(
        logprobs,
        torch.cat([group.payload.sampled.logprobs for group in groups]),
        torch.cat([group.advantages for group in groups]),
        entropies,
        token_weights(lengths, config.objective.aggregation, num_tokens=sum(lengths), num_responses=len(lengths)),
        lengths,
        None if reference is None else plain_logprobs(reference, groups, config)[0].detach(),
        logprobs.detach(),
    )
    return policy_loss(inputs, config.objective).loss


def plain_logprobs(model: PreTrainedModel, groups: Sequence[TrainingGroup], config: RunConfig) -> tuple[Tensor, Tensor]:
    """Log-probability of each response token, and the entropy there."""
    logprobs, entropies = [], []
    for group in groups:
        for response in group.payload.sampled.responses():
            sequence = torch.tensor([[*group.payload.prompt, *response]])
            logits = model(input_ids=sequence, use_cache=False).logits[0, len(group.payload.prompt) - 1 : -1]
            distributions = torch.distributions.Categorical(logits=logits / config.rollout.temperature)
            logprobs.append(distributions.log_prob(torch.tensor(response)))
            entropies.append(distributions.entropy())
    return torch.cat(logprobs), torch.cat(entropies)


def updated(model: PreTrainedModel, groups: Sequence[TrainingGroup], config: RunConfig) -> UpdateStats:
    return Updater(model, config).update(groups, step=1)


def gradients(model: PreTrainedModel) -> list[Tensor]:
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


@pytest.mark.parametrize(
    ("changes", "num_skipped"),
    [
        ({}, 2),
        ({"loss__aggregation": "token-mean"}, 2),
        ({"rollout__temperature": 0.7}, 2),
        ({"loss__clip_low": 0.1, "loss__clip_high": 0.3, "loss__dual_clip": 2.0}, 2),
        ({"loss__kl_coefficient": 0.1, "loss__kl_to": "behaviour"}, 0),
        ({"method__type": "remix", "method__updates_per_batch": 1, "loss__clip_low": 0.1, "loss__clip_high": 0.1}, 2),
        ({"loss__entropy_coefficient": 0.1}, 0),
        ({"training__micro_batch_tokens": 1}, 2),
        ({"training__micro_batch_tokens": 60, "loss__aggregation": "token-mean"}, 2),
    ],
)
@pytest.mark.usefixtures("padding_as_on")
def test_gradient_is_that_of_the_whole_batch_computed_plainly(
    toy_model: PreTrainedModel, groups: list[TrainingGroup], changes: dict[str, Any], num_skipped: int
) -> None:
    config = run_config(**changes)
    loss = reference_loss(toy_model, groups, config)
    expected = torch.autograd.grad(loss, list(toy_model.parameters()))
    stats = updated(toy_model, groups, config)
    torch.testing.assert_close(gradients(toy_model), list(expected), atol=1e-5, rtol=1e-4)
    assert stats.num_groups_skipped == num_skipped
    # Constant parts of the loss vanish with the skipped groups: -Â·ρ = 0 there.
    assert stats.loss == pytest.approx(loss.item(), abs=1e-5)
    assert stats.grad_norm == pytest.approx(math.sqrt(sum(float(g.square().sum()) for g in expected)), rel=1e-4)


@pytest.mark.parametrize("num_tokens", [1, 60])
def test_micro_batches_fit_into_memory_and_change_nothing(
    toy_model: PreTrainedModel, groups: list[TrainingGroup], monkeypatch: pytest.MonkeyPatch, num_tokens: int
) -> None:
    # Groups larger than that are forwarded again for their gradient.
    for module in (update, forward):
        monkeypatch.setattr(module, "tokens_per_gradient", lambda model: num_tokens)
    config = run_config()
    expected = torch.autograd.grad(reference_loss(toy_model, groups, config), list(toy_model.parameters()))
    updated(toy_model, groups, config)
    torch.testing.assert_close(gradients(toy_model), list(expected), atol=1e-5, rtol=1e-4)


def test_each_mini_batch_is_an_optimizer_step(toy_model: PreTrainedModel, groups: list[TrainingGroup]) -> None:
    # Two steps by hand on the mini-batches of three groups each.
    config = run_config(training__mini_batch_size=3)
    twin = type(toy_model)(toy_model.config).eval()
    twin.load_state_dict(toy_model.state_dict())
    optimizer = torch.optim.AdamW(twin.parameters(), lr=0.01, weight_decay=0)
    for positions in mini_batches(6, 3, seed=42, step=1):
        optimizer.zero_grad()
        reference_loss(twin, [groups[position] for position in positions], config).backward()
        optimizer.step()
    stats = updated(toy_model, groups, config)
    assert stats.num_mini_batches == 2
    torch.testing.assert_close(toy_model.state_dict(), twin.state_dict(), atol=2e-4, rtol=1e-3)


def test_gradients_above_the_norm_are_scaled_down(toy_model: PreTrainedModel, groups: list[TrainingGroup]) -> None:
    stats = updated(toy_model, groups, run_config(training__max_grad_norm=0.5))
    assert stats.grad_norm > 0.5  # recorded before
    assert math.sqrt(sum(float(g.square().sum()) for g in gradients(toy_model))) == pytest.approx(0.5, rel=1e-4)


def test_without_any_gradient_adam_moves_by_its_momentum(
    toy_model: PreTrainedModel, groups: list[TrainingGroup]
) -> None:
    updater = Updater(toy_model, run_config())
    updater.update(groups, step=1)
    twin = type(toy_model)(toy_model.config).eval()
    twin.load_state_dict(toy_model.state_dict())
    optimizer = torch.optim.AdamW(twin.parameters(), lr=0.01, weight_decay=0)
    moments = {name: value.clone() for name, value in updater.optimizer.state().items()}
    for name, parameter in twin.named_parameters():
        optimizer.state[parameter] = {key: moments[f"{name}:{key}"] for key in ("step", "exp_avg", "exp_avg_sq")}
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()

    homogeneous = [group for group in groups if not group.advantages.any()]
    stats = updater.update(homogeneous, step=2)
    torch.testing.assert_close(toy_model.state_dict(), twin.state_dict(), rtol=0, atol=1e-7)
    assert (stats.num_groups_skipped, stats.num_tokens, stats.num_mini_batches) == (2, 0, 1)
    assert (stats.loss, stats.grad_norm, stats.entropy, stats.kl) == (0, 0, 0, 0)
    assert (stats.ratio_mean, stats.ratio_max, sum(stats.ratio_histogram)) == (1, 1, 0)
    assert stats.effective_sample_share == 1
    assert (stats.tv_tokens, stats.tv_sequences) == ({}, {})


def test_both_sides_of_the_bound_are_measured_after_the_update(toy_model: PreTrainedModel, make_payload: Any) -> None:
    # One response is right, one wrong: r̄ = 1/2, Â = ±1. The behaviour policy's log-probabilities are set so that the
    # ratios before the update are 2 and 1/2.
    prompt, responses, wanted = [5, 6], [[7], [8]], [2.0, 0.5]
    logits = toy_model(input_ids=torch.tensor([prompt])).logits[0, -1]
    policy = torch.log_softmax(logits, -1)[[7, 8]].tolist()
    logprobs = [value - math.log(ratio) for value, ratio in zip(policy, wanted, strict=True)]
    group = training_group(make_payload(prompt, responses, [1, 0], logprobs=logprobs), BatchSource.REUSED)
    config = run_config(method__type="bapo")
    stats = Updater(toy_model, config).update([group], step=8)
    logits = toy_model(input_ids=torch.tensor([prompt])).logits[0, -1]
    now = torch.log_softmax(logits, -1)[[7, 8]].detach().double()
    right, wrong = (now - torch.tensor(logprobs, dtype=torch.float64)).exp().tolist()
    assert stats.bound is not None
    # J(π_θ) - J(π_θt) = ½·((ρ1 - 2)·½ - (ρ2 - ½)·½)
    improvement = ((right - 2) - (wrong - 0.5)) / 4
    assert stats.bound.improvement == {BatchSource.REUSED: pytest.approx(improvement, rel=1e-4)}
    assert improvement > 0
    # ε = 1e-6 in Â.
    assert stats.bound.surrogate == {BatchSource.REUSED: pytest.approx((right - wrong) / 2, rel=1e-4)}
    distance = (abs(right - 1) + abs(wrong - 1)) / 4
    assert stats.bound.tv_sequences == {BatchSource.REUSED: pytest.approx(distance, rel=1e-4)}
    # ½·(1 + ½)/2 before the update.
    assert stats.tv_sequences == {BatchSource.REUSED: pytest.approx(0.375, rel=1e-4)}
    # The theorem holds on the samples themselves, with K of μ = 1/2.
    bound = improvement_bound(
        k=bound_constant(Fraction(1, 4)), surrogate=(right - wrong) / 2, tv=distance, tv_before=0.375
    )
    assert improvement >= bound


@pytest.mark.parametrize(("method", "step"), [("bapo", 7), ("bapo", 9), ("grpo", 8)])
def test_the_bound_is_measured_every_seventh_step_where_it_is_defined(
    toy_model: PreTrainedModel, groups: list[TrainingGroup], method: str, step: int
) -> None:
    assert Updater(toy_model, run_config(method__type=method)).update(groups, step=step).bound is None


def test_measuring_the_bound_changes_no_weight(toy_model: PreTrainedModel, groups: list[TrainingGroup]) -> None:
    twin = copy.deepcopy(toy_model)
    config = run_config(method__type="bapo", training__mini_batch_size=2)
    measured = Updater(toy_model, config).update(groups, step=8)
    measuring_never = Updater(twin, run_config(method__type="bapo_mini", training__mini_batch_size=2))
    assert measuring_never.update(groups, step=8).bound is None
    assert measured.bound is not None
    assert measured.bound.improvement.keys() == set(BatchSource)
    torch.testing.assert_close(toy_model.state_dict(), twin.state_dict(), rtol=0, atol=0)


def test_an_empty_batch_is_refused(toy_model: PreTrainedModel) -> None:
    with pytest.raises(ValueError, match="the training batch is empty"):
        updated(toy_model, [], run_config())


@pytest.mark.parametrize(
    ("num_groups", "size", "sizes"),
    [
        (5, None, [5]),
        (4, 4, [4]),
        (5, 4, [2, 3]),
        (3, 4, [3]),
        # ⌈10 / 4⌉ = 3 mini-batches: 3, 3 and 4 groups, not 4, 4 and 2.
        (10, 4, [3, 3, 4]),
        (7, 1, [1] * 7),
    ],
)
def test_mini_batches_are_of_nearly_equal_size(num_groups: int, size: int | None, sizes: list[int]) -> None:
    batches = mini_batches(num_groups, size, seed=0, step=3)
    assert sorted(len(batch) for batch in batches) == sizes
    assert sorted(position for batch in batches for position in batch) == list(range(num_groups))


def test_mini_batches_depend_on_seed_and_step_alone() -> None:
    draws = {(seed, step): mini_batches(12, 4, seed=seed, step=step) for seed in (0, 1) for step in (1, 2)}
    assert draws[0, 1] == mini_batches(12, 4, seed=0, step=1)
    assert len({str(draw) for draw in draws.values()}) == 4


def test_statistics_of_a_sequence_ratio_count_each_token_with_its_responses_ratio(
    toy_model: PreTrainedModel, make_payload: Any
) -> None:
    # Token ratios 1.44, 1 and 1, so that the responses of two tokens and of one have √1.44 = 1.2 and 1.
    prompt, responses = [5, 6], [[7, 1], [8]]
    policy = []
    for response in responses:
        logits = toy_model(input_ids=torch.tensor([prompt + response])).logits[0, 1:-1]
        policy += torch.log_softmax(logits, -1).gather(1, torch.tensor(response).unsqueeze(1)).squeeze(1).tolist()
    logprobs = [value - math.log(ratio) for value, ratio in zip(policy, [1.44, 1.0, 1.0], strict=True)]
    group = training_group(make_payload(prompt, responses, [1, 0], logprobs=logprobs), BatchSource.FRESH)
    stats = updated(toy_model, [group], run_config(method__type="gspo"))
    assert stats.num_tokens == 3
    assert stats.ratio_mean == pytest.approx((1.2 + 1.2 + 1) / 3, rel=1e-4)
    assert stats.ratio_max == pytest.approx(1.2, rel=1e-4)
    assert stats.ratio_histogram[6] == 1
    assert sum(stats.ratio_histogram[9:11]) == 2
    # 1.2 is above 1 + 4e-4 with a positive advantage; both tokens of that response are clipped.
    assert stats.clip_fraction == pytest.approx(2 / 3)
    # Of the tokens themselves: half of the mean of 0.44, 0 and 0.
    assert stats.tv_tokens[BatchSource.FRESH] == pytest.approx(0.44 / 6, rel=1e-3)


@pytest.mark.parametrize("mini_batch_size", [None, 3])
def test_kl_to_the_reference_is_0_before_the_policy_moves_and_holds_it_back(
    toy_model: PreTrainedModel, groups: list[TrainingGroup], mini_batch_size: int | None
) -> None:
    config = run_config(loss__kl_coefficient=1.0, training__mini_batch_size=mini_batch_size)
    assert config.objective.needs_reference
    reference = copy.deepcopy(toy_model)
    updater = Updater(toy_model, config, reference=reference)
    first = updater.update(groups, step=1)
    assert first.reference_kl is not None
    # The second of two mini-batches sees the policy after the first one's step.
    assert (first.reference_kl == 0) == (mini_batch_size is None)
    for step in range(2, 8):
        held = updater.update(groups, step=step)
    assert held.reference_kl is not None

    free_model = copy.deepcopy(reference)
    free = Updater(free_model, run_config(loss__kl_coefficient=1e-9), reference=reference)
    for step in range(1, 8):
        loose = free.update(groups, step=step)
    assert loose.reference_kl is not None
    assert 0 < held.reference_kl < loose.reference_kl


def test_the_gradient_with_a_reference_is_that_of_the_whole_batch_computed_plainly(
    toy_model: PreTrainedModel, groups: list[TrainingGroup]
) -> None:
    config = run_config(
        method__type="remix", method__updates_per_batch=1, method__kl_base_share=0.3, loss__kl_coefficient=0.1
    )
    reference = copy.deepcopy(toy_model)
    with torch.no_grad():
        for parameter in reference.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    loss = reference_loss(toy_model, groups, config, reference)
    expected = torch.autograd.grad(loss, list(toy_model.parameters()))
    stats = Updater(toy_model, config, reference=reference).update(groups, step=1)
    torch.testing.assert_close(gradients(toy_model), list(expected), atol=1e-5, rtol=1e-4)
    assert stats.loss == pytest.approx(loss.item(), abs=1e-5)


def test_statistics_of_hand_made_ratios(toy_model: PreTrainedModel, make_payload: Any) -> None:
    # The behaviour policy's log-probabilities are set to log π_θ - log ρ, for ρ = 2, 1 and 1/4, 1.
    prompt, responses = [5, 6], [[7, 1], [8, 1]]
    wanted = [2.0, 1.0, 0.25, 1.0]
    policy = []
    for response in responses:
        logits = toy_model(input_ids=torch.tensor([prompt + response])).logits[0, 1:-1]
        policy += torch.log_softmax(logits, -1).gather(1, torch.tensor(response).unsqueeze(1)).squeeze(1).tolist()
    logprobs = [value - math.log(ratio) for value, ratio in zip(policy, wanted, strict=True)]
    group = training_group(make_payload(prompt, responses, [1, 0], logprobs=logprobs), BatchSource.REUSED)
    stats = updated(toy_model, [group], run_config())
    assert stats.num_tokens == 4
    assert stats.ratio_mean == pytest.approx(4.25 / 4, rel=1e-4)
    assert stats.ratio_max == pytest.approx(2.0, rel=1e-4)
    # Edges 0.5, …, 0.98, 1.02, …, 2.0: 1/4 below the first, both 1 in the middle. 2 lies at the edge between the last
    # bins, and rounding decides.
    assert stats.ratio_histogram[:11] == [1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]
    assert sum(stats.ratio_histogram[11:]) == 1
    # Â = ±1: 2 > 1.2 with +1 is clipped, 1/4 < 0.8 with -1 too.
    assert stats.clip_fraction == 0.5
    # ρ ln ρ - (ρ - 1): 2 ln 2 - 1 = 0.3863; 0.25 ln 0.25 + 0.75 = 0.4034.
    assert stats.kl == pytest.approx((0.3863 + 0.4034) / 4, abs=1e-3)
    # Tokens: ½·(1 + 0 + 0.75 + 0)/4; responses have ratios 2 and 1/4: ½·(1 + 0.75)/2.
    assert stats.tv_tokens == {BatchSource.REUSED: pytest.approx(1.75 / 8, rel=1e-3)}
    assert stats.tv_sequences == {BatchSource.REUSED: pytest.approx(1.75 / 4, rel=1e-3)}


def test_total_variation_is_measured_before_the_update_whatever_the_mini_batches(
    toy_model: PreTrainedModel, groups: list[TrainingGroup]
) -> None:
    weights = {name: value.clone() for name, value in toy_model.state_dict().items()}
    whole = updated(toy_model, groups, run_config())
    assert set(whole.tv_tokens) == set(BatchSource)
    toy_model.load_state_dict(weights)
    split = updated(toy_model, groups, run_config(training__mini_batch_size=2))
    assert split.num_mini_batches == 3
    for one, other in ((whole.tv_tokens, split.tv_tokens), (whole.tv_sequences, split.tv_sequences)):
        assert other == {source: pytest.approx(value, rel=1e-4) for source, value in one.items()}
    # So is the gap: here two of four trained groups are on policy.
    toy_model.load_state_dict(weights)
    marked = [replace(group, is_on_policy=index < 3) for index, group in enumerate(groups)]
    on_policy = updated(toy_model, marked, run_config(training__mini_batch_size=2)).logprob_gap
    trained = [group for group in marked[:3] if group.advantages.any()]
    assert on_policy is not None
    assert on_policy.num_tokens == sum(group.num_tokens for group in trained)
    toy_model.load_state_dict(weights)
    with torch.no_grad():
        logprobs, _ = plain_logprobs(toy_model, trained, run_config())
    behaviour = torch.cat([group.payload.sampled.logprobs for group in trained])
    assert on_policy.mean == pytest.approx(float((logprobs - behaviour).abs().mean()), rel=1e-4)
    assert whole.logprob_gap is None
    # The ratios of the later mini-batches are those after the first steps.
    assert split.ratio_mean != pytest.approx(whole.ratio_mean, rel=1e-3)


def test_entropy_is_the_mean_over_the_tokens_trained_on(
    toy_model: PreTrainedModel, groups: list[TrainingGroup]
) -> None:
    trained = [group for group in groups if group.advantages.any()]
    entropies = []
    for group in trained:
        for response in group.payload.sampled.responses():
            sequence = torch.tensor([[*group.payload.prompt, *response]])
            logits = toy_model(input_ids=sequence).logits[0, len(group.payload.prompt) - 1 : -1]
            entropies += torch.distributions.Categorical(logits=logits).entropy().tolist()
    stats = updated(toy_model, groups, run_config())
    assert stats.num_tokens == len(entropies)
    assert stats.entropy == pytest.approx(sum(entropies) / len(entropies), rel=1e-4)


def test_a_restored_optimizer_goes_on_bit_for_bit(toy_model: PreTrainedModel, groups: list[TrainingGroup]) -> None:
    updater = Updater(toy_model, run_config())
    assert updater.optimizer.state() == {}
    updater.update(groups, step=1)
    twin = type(toy_model)(toy_model.config).eval()
    twin.load_state_dict(toy_model.state_dict())
    restored = Updater(twin, run_config())
    restored.optimizer.load_state({name: value.clone() for name, value in updater.optimizer.state().items()})
    assert updater.update(groups, step=2) == restored.update(groups, step=2)
    assert all(torch.equal(one, other) for one, other in zip(toy_model.parameters(), twin.parameters(), strict=True))


def test_the_gradient_of_a_group_with_its_demonstration_is_that_of_both_computed_plainly(
    toy_model: PreTrainedModel, random_payload: Any
) -> None:
    config = run_config(method__type="luffy")
    sampled = random_payload(3, prompt_length=4, max_length=7, rewards=[0] * 4)
    given = [5, 9, 4, 1]
    # All responses are wrong, and the demonstration is right: -1/2 each, and 2.
    advantages = (-0.5,) * 4 + (2.0,)
    group = training_group(
        sampled.with_demonstration(given), BatchSource.FRESH, advantages, is_on_policy=True, num_given_tokens=4
    )
    expected = copy.deepcopy(toy_model)
    logprobs, entropies = plain_logprobs(expected, [group], config)
    num_sampled = sum(sampled.sampled.lengths)
    ratios = (logprobs[:num_sampled] - sampled.sampled.logprobs).exp()
    weights = logprobs[num_sampled:].exp() / (logprobs[num_sampled:].exp() + 0.1)
    clipped = torch.maximum(0.5 * ratios, 0.5 * ratios.clamp(0.8, 1.2))
    ((clipped.sum() - 2 * weights.sum()) / (num_sampled + 4)).backward()
    logprobs, entropies, ratios, weights = (each.detach() for each in (logprobs, entropies, ratios, weights))

    updater = Updater(toy_model, config)
    stats = updater.update([group], step=1)
    for name, parameter in toy_model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected.get_parameter(name).grad, msg=name, atol=1e-5, rtol=1e-4)
    # The means are those of the responses alone.
    assert stats.num_tokens == sum(stats.ratio_histogram) == num_sampled
    assert stats.ratio_mean == pytest.approx(float(ratios.mean()), rel=1e-4)
    assert stats.entropy == pytest.approx(float(entropies[:num_sampled].mean()), rel=1e-4)
    assert stats.tv_tokens[BatchSource.FRESH] == pytest.approx(float((ratios - 1).abs().mean() / 2), rel=1e-4)
    assert stats.logprob_gap is not None
    assert stats.logprob_gap.num_tokens == num_sampled
    assert stats.demonstrations is not None
    assert stats.demonstrations.num_responses == 1
    assert stats.demonstrations.loss == pytest.approx(float(-2 * weights.mean()), rel=1e-4)
    assert stats.demonstrations.probability == pytest.approx(float(logprobs[num_sampled:].exp().mean()), rel=1e-4)


def test_a_supervised_step_follows_the_gradient_of_the_mean_cross_entropy(toy_model: PreTrainedModel) -> None:
    examples = [Example([3, 4, 5], [6, 1]), Example([7, 8], [9, 10, 11, 1])]
    expected = copy.deepcopy(toy_model)
    sums = []
    for prompt, response in examples:
        logits = expected(input_ids=torch.tensor([[*prompt, *response]]), use_cache=False).logits[0]
        sums.append(logits.log_softmax(-1)[len(prompt) - 1 : -1].gather(1, torch.tensor([response]).T).sum())
    # The mean over all 2 + 4 tokens, not over the responses.
    loss = -(sums[0] + sums[1]) / 6
    loss.backward()

    updater = Updater(toy_model, run_config(method__type="relift"))
    before = copy.deepcopy(toy_model)
    stats = updater.supervise(examples)
    assert stats.num_responses == 2
    assert stats.loss == pytest.approx(loss.item(), rel=1e-5)
    for name, parameter in toy_model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected.get_parameter(name).grad, msg=name, atol=1e-5, rtol=1e-4)
        # The first step of Adam moves each weight by the learning rate.
        moved = (parameter - before.get_parameter(name)).detach().abs().max()
        assert float(moved) == pytest.approx(0.01, rel=1e-2), name
    assert updater.supervise(examples).loss < stats.loss
