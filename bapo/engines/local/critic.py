"""The critic of the local engine: a value model besides the policy, with a separate optimizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from transformers import AutoModelForTokenClassification, PreTrainedModel

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.config.method import CriticConfig
from bapo.critic import explained_variance, generalized_advantages, value_loss, whitened
from bapo.engines.finite_values import require_finite
from bapo.engines.local.attention import use_grouped_attention
from bapo.engines.local.autocast import forward_passes
from bapo.engines.local.batches import TrainingGroup, micro_batches
from bapo.engines.local.forward import response_values
from bapo.engines.local.memory import tokens_per_gradient
from bapo.engines.local.optimizer import Optimizer
from bapo.engines.local.padding import padding_budget
from bapo.engines.local.payload import GroupPayload
from bapo.engines.local.repeatable import backward
from bapo.engines.local.update_stats import token_mean
from bapo.records import CriticStats


def value_model(policy: PreTrainedModel, config: RunConfig) -> PreTrainedModel:
    """Return the policy's layers with a head of one number in place of that of the vocabulary.

    A token classification model with one label, which is also verl's form of a critic. The head is 0, so that every
    value is 0 before training, and no random number is drawn. Raises ConfigError where there is no such model.
    """
    # Names for two labels, which every config has, would contradict the number.
    settings = {name: value for name, value in policy.config.to_dict().items() if name not in ("id2label", "label2id")}
    try:
        with torch.random.fork_rng(devices=[]):
            model: PreTrainedModel = AutoModelForTokenClassification.from_config(  # type: ignore[no-untyped-call]
                type(policy.config).from_dict({**settings, "num_labels": 1}), dtype=policy.dtype
            )
    except ValueError:
        remedy = (
            f"its critic needs a value head, which model type {policy.config.model_type!r} does not come with: "
            "choose a method without critic, or another model"
        )
        raise ConfigError([ConfigProblem("method.type", config.method.type, remedy)]) from None
    use_grouped_attention(model)
    model.base_model.load_state_dict(policy.base_model.state_dict())
    layers = {id(parameter) for parameter in model.base_model.parameters()}
    for parameter in model.parameters():
        if id(parameter) not in layers:
            parameter.data.zero_()
    model.train(False).to(policy.device)
    return model


@dataclass(frozen=True, slots=True, eq=False)
class _Targets:
    """Targets of the values of one group, on the CPU."""

    payload: GroupPayload
    old_values: Tensor
    """Before the update [tokens]."""
    returns: Tensor
    """R_t [tokens]."""


class Critic:
    """The value model in training."""

    def __init__(self, policy: PreTrainedModel, config: RunConfig, critic: CriticConfig) -> None:
        """Begin with the policy's weights. Raises ConfigError where its kind of model has no value head."""
        self._config = critic
        self._engine = config.engine
        self._micro_batch_tokens = config.training.micro_batch_tokens
        self.model = value_model(policy, config)
        self.optimizer = Optimizer(
            self.model,
            learning_rate=critic.learning_rate,
            weight_decay=config.training.weight_decay,
            max_grad_norm=config.training.max_grad_norm,
            whose="the critic",
        )

    def warms_up(self, step: int) -> bool:
        """Return whether the policy stays as it is in this step."""
        return step <= self._config.warmup_steps

    def update(
        self, groups: Sequence[TrainingGroup], mini_batches: Sequence[Sequence[int]]
    ) -> tuple[list[TrainingGroup], CriticStats]:
        """Give the groups the advantages that the values before the update make, then train on the mini-batches."""
        values = self._values([group.payload for group in groups])
        estimates = [self._estimate(group.payload, each) for group, each in zip(groups, values, strict=True)]
        advantages = whitened(torch.cat([each for each, _ in estimates]))
        targets = [
            _Targets(group.payload, old_values, returns)
            for group, old_values, (_, returns) in zip(groups, values, estimates, strict=True)
        ]
        is_clipped: list[Tensor] = []
        steps = [self._train([targets[position] for position in each], is_clipped) for each in mini_batches]
        old_values, returns = torch.cat(values), torch.cat([each.returns for each in targets])
        stats = CriticStats(
            loss=sum(loss for loss, _ in steps) / len(steps),
            explained_variance=explained_variance(old_values, returns),
            value_mean=float(old_values.mean()),
            return_mean=float(returns.mean()),
            grad_norm=sum(norm for _, norm in steps) / len(steps),
            clip_fraction=token_mean(is_clipped),
            learning_rate=self._config.learning_rate,
        )
        parts = torch.split(advantages, [group.num_tokens for group in groups])
        return [replace(group, advantages=part) for group, part in zip(groups, parts, strict=True)], stats

    def _estimate(self, payload: GroupPayload, values: Tensor) -> tuple[Tensor, Tensor]:
        return generalized_advantages(
            torch.tensor(payload.rewards),
            values,
            payload.sampled.lengths,
            discount=self._config.discount,
            gae_lambda=self._config.gae_lambda,
        )

    @torch.no_grad()
    def _values(self, payloads: Sequence[GroupPayload]) -> list[Tensor]:
        """Return V of every response token, by group, on the CPU."""
        values: dict[int, Tensor] = {}
        for positions in self._micro_batches(payloads):
            chosen = [payloads[position] for position in positions]
            parts = self._forward(chosen).cpu()
            sizes = [sum(payload.sampled.lengths) for payload in chosen]
            values |= zip(positions, torch.split(parts, sizes), strict=True)
        return [values[position] for position in range(len(payloads))]

    def _train(self, batch: Sequence[_Targets], is_clipped: list[Tensor]) -> tuple[float, float]:
        """Take one optimizer step; return the loss and the norm of the gradient."""
        loss = 0.0
        num_tokens = sum(len(targets.returns) for targets in batch)
        self.optimizer.zero_gradients()
        for positions in self._micro_batches([targets.payload for targets in batch]):
            chosen = [batch[position] for position in positions]
            values = self._forward([targets.payload for targets in chosen])
            output = value_loss(
                values,
                torch.cat([targets.old_values for targets in chosen]).to(values.device),
                torch.cat([targets.returns for targets in chosen]).to(values.device),
                torch.full_like(values, 1 / num_tokens),
                value_clip=self._config.value_clip,
            )
            backward(output.loss)
            loss += require_finite("the critic's loss", output.loss.item())
            is_clipped.append(output.is_clipped.cpu())
        return loss, self.optimizer.step()

    def _micro_batches(self, payloads: Sequence[GroupPayload]) -> Iterator[list[int]]:
        max_tokens = min(self._micro_batch_tokens, tokens_per_gradient(self.model))
        return micro_batches(payloads, max_tokens, padding_budget(self.model).prompts)

    def _forward(self, payloads: Sequence[GroupPayload]) -> Tensor:
        with forward_passes(self._engine, self.model.device):
            return response_values(self.model, payloads).float()
