"""The engine's side of the critic: advantages out of its values, and its training."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from bapo.config.method import CriticConfig
from bapo.critic import explained_variance, generalized_advantages, whitened
from bapo.engines.base import BatchItem
from bapo.engines.verl.rows import Rows, responses_of
from bapo.engines.verl.trainer import BapoTrainer
from bapo.records import CriticStats


class VerlCritic:
    """verl's value model under our loop; what it does is said in `bapo.engines.base`."""

    def __init__(self, trainer: BapoTrainer, config: CriticConfig) -> None:
        self._trainer = trainer
        self._config = config

    def warms_up(self, step: int) -> bool:
        """Return whether the policy stays as it is in this step."""
        return step <= self._config.warmup_steps

    def update(self, batch: Sequence[BatchItem], mini_batches: Sequence[Sequence[BatchItem]]) -> CriticStats:
        """Add advantages and returns to the batch's rows, then train on the mini-batches."""
        rows = Rows.of(batch)
        values = torch.cat(self._trainer.values(rows))
        advantages, returns = generalized_advantages(
            torch.tensor([response.reward for item in batch for response in responses_of(item)]),
            values,
            rows.response_lengths,
            discount=self._config.discount,
            gae_lambda=self._config.gae_lambda,
        )
        self._trainer.put_targets(rows, whitened(advantages), returns)
        steps = [self._trainer.update_critic(Rows.of(items)) for items in mini_batches]
        num_tokens = sum(sum(Rows.of(items).response_lengths) for items in mini_batches)
        return CriticStats(
            loss=math.fsum(sums["bapo/critic_loss"] for sums in steps) / len(steps),
            explained_variance=explained_variance(values, returns),
            value_mean=float(values.mean()),
            return_mean=float(returns.mean()),
            grad_norm=math.fsum(sums["grad_norm"] for sums in steps) / len(steps),
            clip_fraction=math.fsum(sums["bapo/critic_clipped"] for sums in steps) / num_tokens,
            learning_rate=self._config.learning_rate,
        )
