"""One training step of the policy, and of the critic where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from bapo.config import RunConfig
from bapo.engines.finite_values import require_finite
from bapo.engines.local.autocast import forward_passes
from bapo.engines.local.batches import TrainingGroup, micro_batches, mini_batches
from bapo.engines.local.bound_terms import bound_terms, is_measured
from bapo.engines.local.critic import Critic
from bapo.engines.local.forward import response_logprobs
from bapo.engines.local.memory import tokens_per_gradient
from bapo.engines.local.optimizer import Optimizer
from bapo.engines.local.padding import padding_budget
from bapo.engines.local.repeatable import backward
from bapo.engines.local.supervised import Example, add_gradient
from bapo.engines.local.update_stats import UpdateStatsCollector, rollout_logprobs
from bapo.losses import LossInputs, policy_loss, token_weights
from bapo.records import SupervisedStats, UpdateStats


class Updater:
    """The optimizer of one policy."""

    def __init__(
        self,
        model: PreTrainedModel,
        config: RunConfig,
        critic: Critic | None = None,
        reference: PreTrainedModel | None = None,
    ) -> None:
        """Take a `critic`, which gives the advantages in place of those that the groups come with, and a `reference`
        for the KL penalty, if the objective needs one.
        """
        training = config.training
        self._model = model
        self._reference = reference
        self._critic = critic
        self._config = config
        self._objective = config.objective
        self.optimizer = Optimizer(
            model,
            learning_rate=training.learning_rate,
            weight_decay=training.weight_decay,
            max_grad_norm=training.max_grad_norm,
        )

    def update(self, groups: Sequence[TrainingGroup], *, step: int, passes: int = 1) -> UpdateStats:
        """Train on the groups, on all of them `passes` times.

        Raises ValueError where there are none, and NotFiniteError where a value is NaN or infinite.
        """
        if not groups:
            raise ValueError("the training batch is empty: a step without groups makes no update")
        training = self._config.training
        positions = mini_batches(len(groups), training.mini_batch_size, seed=training.seed, step=step, passes=passes)
        critic_stats, is_warm_up = None, False
        if self._critic is not None:
            groups, critic_stats = self._critic.update(groups, positions)
            is_warm_up = self._critic.warms_up(step)
        batches = [[groups[position] for position in each] for each in positions]
        one_pass = batches[: len(batches) // passes]
        measures_bound = self._config.method.has_thresholds and is_measured(step)
        stats = UpdateStatsCollector(self._objective, before={} if measures_bound else None)
        reference = {} if self._reference is None else self._logprobs(self._reference, one_pass)
        # The first mini-batch's own forward pass is one before the update; the others need one of their own.
        current = self._logprobs(self._model, one_pass if self._objective.needs_current else one_pass[1:])
        for group, logprobs in current.items():
            stats.add_before([group], logprobs)
        for index, batch in enumerate(one_pass if is_warm_up else batches):
            is_first = index == 0 and not self._objective.needs_current
            self._train(batch, stats, current, reference, is_first=is_first, moves=not is_warm_up)
        return stats.summary(
            num_groups_skipped=sum(not self._has_gradient(group) for group in groups),
            num_demonstrations=sum(group.num_given_tokens > 0 for group in groups),
            learning_rate=training.learning_rate,
            critic=critic_stats,
            bound=bound_terms(groups, stats.before, self._logprobs(self._model, one_pass)) if stats.before else None,
        )

    def supervise(self, examples: Sequence[Example]) -> SupervisedStats:
        """Take one optimizer step on the examples' mean cross-entropy, at temperature 1.

        Raises NotFiniteError where a value is NaN or infinite.
        """
        self.optimizer.zero_gradients()
        with forward_passes(self._config.engine, self._model.device):
            # Any token would do in place of padding.
            loss = add_gradient(self._model, examples, padding=0)
        return SupervisedStats(
            num_responses=len(examples),
            loss=require_finite("the supervised loss", loss),
            grad_norm=self.optimizer.step(),
        )

    def _train(
        self,
        batch: Sequence[TrainingGroup],
        stats: UpdateStatsCollector,
        current: Mapping[TrainingGroup, Tensor],
        reference: Mapping[TrainingGroup, Tensor],
        *,
        is_first: bool,
        moves: bool,
    ) -> None:
        """Take one optimizer step on a mini-batch, or only compute its statistics."""
        loss = 0.0
        num_tokens = sum(group.num_tokens for group in batch)
        num_responses = sum(len(group.payload.rewards) for group in batch)
        if moves:
            self.optimizer.zero_gradients()
        for micro_batch in self._micro_batches(batch):
            with torch.set_grad_enabled(moves):
                logprobs, entropies = self._forward(
                    self._model, micro_batch, entropy_gradient=self._objective.entropy_coefficient > 0
                )
            if is_first:
                stats.add_before(micro_batch, logprobs.detach())
            lengths = [length for group in micro_batch for length in group.payload.sampled.lengths]
            weights = token_weights(
                lengths, self._objective.aggregation, num_tokens=num_tokens, num_responses=num_responses
            )
            inputs = LossInputs(
                policy_logprobs=logprobs,
                rollout_logprobs=rollout_logprobs(micro_batch).to(logprobs.device),
                advantages=torch.cat([group.advantages for group in micro_batch]).to(logprobs.device),
                entropies=entropies,
                weights=weights.to(logprobs.device),
                lengths=lengths,
                reference_logprobs=_joined(reference, micro_batch) if reference else None,
                current_logprobs=_joined(current, micro_batch) if self._objective.needs_current else None,
                is_given=_is_given(micro_batch, logprobs.device),
            )
            output = policy_loss(inputs, self._objective)
            loss += require_finite("the policy's loss", output.loss.item())
            if moves:
                backward(output.loss)
            stats.add_trained(output)
        stats.add_step(loss, self.optimizer.step() if moves else 0.0)

    @torch.no_grad()
    def _logprobs(
        self, model: PreTrainedModel, batches: Sequence[Sequence[TrainingGroup]]
    ) -> dict[TrainingGroup, Tensor]:
        """Return the log-probability of every token of the groups with a gradient."""
        found: dict[TrainingGroup, Tensor] = {}
        for batch in batches:
            for micro_batch in self._micro_batches(batch):
                logprobs, _ = self._forward(model, micro_batch, entropy_gradient=False)
                sizes = [group.num_tokens for group in micro_batch]
                found |= zip(micro_batch, torch.split(logprobs, sizes), strict=True)
        return found

    def _forward(
        self, model: PreTrainedModel, groups: Sequence[TrainingGroup], *, entropy_gradient: bool
    ) -> tuple[Tensor, Tensor]:
        with forward_passes(self._config.engine, model.device):
            logprobs, entropies = response_logprobs(
                model,
                [group.payload for group in groups],
                temperature=self._config.rollout.temperature,
                entropy_gradient=entropy_gradient,
            )
        # A loss that is clipped or masked does not show every one of them.
        require_finite("the sum of the tokens' log-probabilities", float(logprobs.detach().sum()))
        return logprobs, entropies

    def _micro_batches(self, batch: Sequence[TrainingGroup]) -> Iterator[list[TrainingGroup]]:
        """Yield the groups with a gradient, in parts that fit into memory."""
        trained = [group for group in batch if self._has_gradient(group)]
        payloads = [group.payload for group in trained]
        max_tokens = min(self._config.training.micro_batch_tokens, tokens_per_gradient(self._model))
        for positions in micro_batches(payloads, max_tokens, padding_budget(self._model).prompts):
            yield [trained[position] for position in positions]

    def _has_gradient(self, group: TrainingGroup) -> bool:
        """Return whether the group's loss depends on the weights: without advantages, KL penalty and entropy bonus it
        is constant.
        """
        objective = self._objective
        return bool(group.advantages.any() or objective.kl_coefficient or objective.entropy_coefficient)


def _is_given(groups: Sequence[TrainingGroup], device: torch.device) -> Tensor | None:
    """Return which tokens are of demonstrations; None if there are none."""
    if not any(group.num_given_tokens for group in groups):
        return None
    return torch.cat([torch.arange(each.num_tokens) >= each.num_sampled_tokens for each in groups]).to(device)


def _joined(logprobs: Mapping[TrainingGroup, Tensor], groups: Sequence[TrainingGroup]) -> Tensor:
    return torch.cat([logprobs[group] for group in groups])
