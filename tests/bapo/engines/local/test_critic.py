from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bapo.config import ConfigError, RunConfig
from bapo.config.resolve import apply_changes
from bapo.records import UpdateStats
from bapo.rollout import BatchSource
from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel, Qwen2Config

    from bapo.critic import generalized_advantages, value_loss, whitened
    from bapo.engines.local.batches import TrainingGroup, training_group
    from bapo.engines.local.critic import Critic, value_model
    from bapo.engines.local.forward import response_values
    from bapo.engines.local.update import Updater


def run_config(**changes: Any) -> RunConfig:
    settings = {"training.max_grad_norm": 1e9, "training.learning_rate": 0.01, "method.type": "ppo"}
    settings |= {name.replace("__", "."): value for name, value in changes.items()}
    return RunConfig.model_validate(apply_changes({"training": {"steps": 1}}, settings))


def make_critic(policy: PreTrainedModel, config: RunConfig) -> Critic:
    assert config.critic is not None
    return Critic(policy, config, config.critic)


@pytest.fixture
def groups(random_payload: Any) -> list[TrainingGroup]:
    """Two prompt lengths; the first and the last group have equal rewards."""
    rewards = [[0] * 4, [1, 0, 0, 1], [0, 1, 1, 1], [1] * 4]
    return [
        training_group(random_payload(seed, prompt_length=4 + seed % 2, max_length=7, rewards=each), BatchSource.FRESH)
        for seed, each in enumerate(rewards)
    ]


def head(critic: Critic) -> Tensor:
    return critic.model.get_parameter("score.weight")


def with_random_head(critic: Critic) -> Critic:
    torch.nn.init.normal_(head(critic), std=0.3, generator=torch.Generator().manual_seed(0))
    return critic


def plain_values(model: PreTrainedModel, groups: Sequence[TrainingGroup]) -> Tensor:
    """V with nothing shared between the responses of a prompt."""
    values = []
    for group in groups:
        for response in group.payload.sampled.responses():
            sequence = torch.tensor([[*group.payload.prompt, *response]])
            values.append(model(input_ids=sequence, use_cache=False).logits[0, len(group.payload.prompt) - 1 : -1, 0])
    return torch.cat(values)


def estimates(values: Tensor, groups: Sequence[TrainingGroup], gae_lambda: float) -> tuple[Tensor, Tensor]:
    lengths = [length for group in groups for length in group.payload.sampled.lengths]
    rewards = torch.tensor([reward for group in groups for reward in group.payload.rewards])
    return generalized_advantages(rewards, values.detach(), lengths, discount=1, gae_lambda=gae_lambda)


def updated(policy: PreTrainedModel, groups: list[TrainingGroup], config: RunConfig, step: int = 1) -> UpdateStats:
    return Updater(policy, config, make_critic(policy, config)).update(groups, step=step)


def test_a_new_critic_is_the_policy_with_values_of_0(toy_model: PreTrainedModel, groups: list[TrainingGroup]) -> None:
    state = torch.get_rng_state()
    critic = make_critic(toy_model, run_config())
    assert torch.equal(torch.get_rng_state(), state)
    theirs = dict(critic.model.base_model.named_parameters())
    for name, parameter in toy_model.base_model.named_parameters():
        assert torch.equal(theirs[name], parameter)
        assert theirs[name] is not parameter
    assert response_values(critic.model, [groups[0].payload]).abs().max() == 0


def test_sharing_the_prompt_changes_neither_values_nor_gradients(
    toy_model: PreTrainedModel, groups: list[TrainingGroup]
) -> None:
    model = with_random_head(make_critic(toy_model, run_config())).model.double()
    same_length = [groups[1], groups[3]]
    shared = response_values(model, [group.payload for group in same_length])
    plain = plain_values(model, same_length)
    torch.testing.assert_close(shared, plain, atol=1e-9, rtol=1e-9)
    mixing = torch.rand(len(plain), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    gradients = [torch.autograd.grad((mixing * each).sum(), list(model.parameters())) for each in (shared, plain)]
    torch.testing.assert_close(*gradients, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("micro_batch_tokens", [1, 10_000])
def test_one_update_is_that_of_the_whole_batch_computed_plainly(
    toy_model: PreTrainedModel, groups: list[TrainingGroup], micro_batch_tokens: int
) -> None:
    config = run_config(method__critic__gae_lambda=0.9, training__micro_batch_tokens=micro_batch_tokens)
    critic = with_random_head(make_critic(toy_model, config))
    values = plain_values(critic.model, groups)
    advantages, returns = estimates(values, groups, 0.9)
    weights = torch.full((len(values),), 1 / len(values))
    loss = value_loss(values, values.detach(), returns, weights, value_clip=0.5).loss
    expected = torch.autograd.grad(loss, list(critic.model.parameters()))

    assessed, stats = critic.update(groups, [range(len(groups))])
    torch.testing.assert_close(
        torch.cat([group.advantages for group in assessed]), whitened(advantages), atol=1e-5, rtol=1e-4
    )
    found = [parameter.grad for parameter in critic.model.parameters()]
    torch.testing.assert_close(found, list(expected), atol=1e-5, rtol=1e-4)
    values = values.detach()
    assert stats.loss == pytest.approx(loss.item(), rel=1e-4)
    assert stats.grad_norm == pytest.approx(sum(float(each.square().sum()) for each in expected) ** 0.5, rel=1e-4)
    assert stats.value_mean == pytest.approx(float(values.mean()), rel=1e-4)
    assert stats.return_mean == pytest.approx(float(returns.mean()), rel=1e-4)
    assert stats.explained_variance == pytest.approx(
        float(1 - (returns - values).var(correction=0) / returns.var(correction=0)), rel=1e-3
    )
    assert stats.clip_fraction == 0  # nothing has moved yet


def test_on_one_batch_the_values_approach_the_rewards(toy_model: PreTrainedModel, groups: list[TrainingGroup]) -> None:
    critic = make_critic(toy_model, run_config(method__critic__learning_rate=3e-3))
    steps = [critic.update(groups, [range(len(groups))])[1] for _ in range(30)]
    assert steps[0].explained_variance == pytest.approx(0)
    assert steps[-1].loss < steps[0].loss / 4
    assert steps[-1].explained_variance is not None
    assert steps[-1].explained_variance > 0.8
    # What a perfect critic knows beforehand is no advantage: those of equal rewards end near the batch's mean.
    assert abs(steps[-1].value_mean - steps[-1].return_mean) < 0.1


def test_values_far_from_the_old_ones_are_clipped_in_later_passes(
    toy_model: PreTrainedModel, groups: list[TrainingGroup]
) -> None:
    config = run_config(method__critic__value_clip=0.05, method__critic__learning_rate=0.02)
    _, once = make_critic(toy_model, config).update(groups, [range(4)])
    _, often = make_critic(toy_model, config).update(groups, [range(4)] * 4)
    assert once.clip_fraction == 0
    assert often.clip_fraction > 0.2


def test_groups_of_equal_rewards_move_the_policy(toy_model: PreTrainedModel, groups: list[TrainingGroup]) -> None:
    # All right and all wrong, far apart: each has an advantage over the other.
    stats = updated(toy_model, [groups[0], groups[3]], run_config())
    assert stats.num_groups_skipped == 0
    assert stats.grad_norm > 0
    assert stats.critic is not None


def test_in_the_warm_up_only_the_critic_moves(toy_model: PreTrainedModel, groups: list[TrainingGroup]) -> None:
    config = run_config(method__critic__warmup_steps=2, training__mini_batch_size=2)
    critic = make_critic(toy_model, config)
    updater = Updater(toy_model, config, critic)
    before = {name: value.clone() for name, value in toy_model.state_dict().items()}
    for step in (1, 2):
        old = head(critic).clone()
        stats = updater.update(groups, step=step, passes=3)
        assert not torch.equal(head(critic), old)
        assert (stats.grad_norm, stats.num_mini_batches) == (0, 2)
        assert stats.num_tokens == sum(group.num_tokens for group in groups)
    torch.testing.assert_close(dict(toy_model.state_dict()), before, rtol=0, atol=0)
    assert updater.optimizer.state() == {}
    stats = updater.update(groups, step=3, passes=3)
    assert stats.grad_norm > 0
    assert stats.num_mini_batches == 6
    assert not torch.equal(toy_model.state_dict()["model.norm.weight"], before["model.norm.weight"])


def test_the_same_update_gives_the_same_bits(toy_model: PreTrainedModel, groups: list[TrainingGroup]) -> None:
    config = run_config(training__mini_batch_size=2)
    twin = type(toy_model)(toy_model.config).eval()
    twin.load_state_dict(toy_model.state_dict())
    assert updated(toy_model, groups, config) == updated(twin, groups, config)
    assert all(torch.equal(one, other) for one, other in zip(toy_model.parameters(), twin.parameters(), strict=True))


def test_a_model_without_a_value_head_is_refused(toy_model: PreTrainedModel) -> None:
    class Unknown(Qwen2Config):
        model_type = "unheard-of"

    toy_model.config.__class__ = Unknown
    with pytest.raises(ConfigError) as refused:
        value_model(toy_model, run_config())
    (problem,) = refused.value.problems
    assert (problem.field, problem.value) == ("method.type", "ppo")
    assert "'unheard-of'" in problem.remedy
