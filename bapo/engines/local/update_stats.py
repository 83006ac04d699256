"""Collects the statistics of a policy update from its forward passes, token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from bapo.config.objective import Objective
from bapo.engines.local.batches import TrainingGroup
from bapo.logprob_gap import GapSums, gap_sums
from bapo.losses import DemonstrationTerm, LossOutput
from bapo.records import (
    RATIO_BIN_EDGES,
    BoundTerms,
    CriticStats,
    DemonstrationStats,
    UpdateStats,
    effective_sample_share,
)
from bapo.rollout import BatchSource


def rollout_logprobs(groups: Sequence[TrainingGroup]) -> Tensor:
    """Return the log-probabilities of the behaviour policies, [tokens]."""
    return torch.cat([group.payload.sampled.logprobs for group in groups])


@dataclass(slots=True)
class UpdateStatsCollector:
    """Collects per-token values over a step; everything on the CPU."""

    objective: Objective
    losses: list[float] = field(default_factory=list)
    grad_norms: list[float] = field(default_factory=list)
    ratios: list[Tensor] = field(default_factory=list)
    kl: list[Tensor] = field(default_factory=list)
    reference_kl: list[Tensor] = field(default_factory=list)
    is_clipped: list[Tensor] = field(default_factory=list)
    entropies: list[Tensor] = field(default_factory=list)
    demonstrations: list[DemonstrationTerm] = field(default_factory=list)
    token_distances: dict[BatchSource, list[Tensor]] = field(default_factory=dict)
    sequence_distances: dict[BatchSource, list[Tensor]] = field(default_factory=dict)
    gap: GapSums = field(default_factory=GapSums)
    before: dict[TrainingGroup, Tensor] | None = None
    """Log-probabilities of the tokens before the update; `None` if they are not to be kept."""

    def add_before(self, groups: Sequence[TrainingGroup], logprobs: Tensor) -> None:
        """Add |ρ - 1| of tokens and of whole responses before the update; on-policy groups show the gap."""
        sizes = [group.num_tokens for group in groups]
        if self.before is not None:
            self.before |= zip(groups, torch.split(logprobs, sizes), strict=True)
        log_ratios = logprobs.cpu() - rollout_logprobs(groups)
        for group, of_group in zip(groups, torch.split(log_ratios, sizes), strict=True):
            part = of_group[: group.num_sampled_tokens]
            lengths = list(group.payload.sampled.lengths)[: -1 if group.num_given_tokens else None]
            sums = torch.stack([each.sum() for each in torch.split(part, lengths)])
            for distances, values in ((self.token_distances, part), (self.sequence_distances, sums)):
                distances.setdefault(group.source, []).append(values.clamp(-20, 20).expm1().abs())
            if group.is_on_policy:
                self.gap += gap_sums(part, lengths, self.objective)

    def add_trained(self, output: LossOutput) -> None:
        """Add the tokens of one forward and backward pass."""
        self.ratios.append(output.ratios.cpu())
        self.kl.append(output.kl.cpu())
        if output.reference_kl is not None:
            self.reference_kl.append(output.reference_kl.cpu())
        self.is_clipped.append(output.is_clipped.cpu())
        self.entropies.append(output.entropies.cpu())
        if output.demonstrations is not None:
            self.demonstrations.append(output.demonstrations)

    def add_step(self, loss: float, grad_norm: float) -> None:
        """Add the loss and gradient norm of one optimizer step."""
        self.losses.append(loss)
        self.grad_norms.append(grad_norm)

    def summary(
        self,
        *,
        num_groups_skipped: int,
        num_demonstrations: int,
        learning_rate: float,
        critic: CriticStats | None,
        bound: BoundTerms | None,
    ) -> UpdateStats:
        """Return means over the tokens trained on. If all groups were skipped: no deviation, ratio 1."""
        ratios = torch.cat(self.ratios) if self.ratios else torch.empty(0)
        bins = torch.bucketize(ratios, torch.tensor(RATIO_BIN_EDGES), right=True)
        num_mini_batches = len(self.losses)
        return UpdateStats(
            loss=sum(self.losses) / num_mini_batches,
            entropy=token_mean(self.entropies),
            grad_norm=sum(self.grad_norms) / num_mini_batches,
            kl=token_mean(self.kl),
            reference_kl=token_mean(self.reference_kl) if self.reference_kl else None,
            clip_fraction=token_mean(self.is_clipped),
            ratio_mean=float(ratios.mean()) if len(ratios) else 1.0,
            ratio_max=float(ratios.max()) if len(ratios) else 1.0,
            effective_sample_share=effective_sample_share(
                len(ratios), float(ratios.double().sum()), float(ratios.double().square().sum())
            ),
            ratio_histogram=torch.bincount(bins, minlength=len(RATIO_BIN_EDGES) + 1).tolist(),
            num_mini_batches=num_mini_batches,
            num_tokens=len(ratios),
            num_groups_skipped=num_groups_skipped,
            learning_rate=learning_rate,
            tv_tokens=_half_means(self.token_distances),
            tv_sequences=_half_means(self.sequence_distances),
            critic=critic,
            demonstrations=self._demonstration_stats(num_demonstrations),
            logprob_gap=self.gap.gap(),
            bound=bound,
        )

    def _demonstration_stats(self, num_responses: int) -> DemonstrationStats | None:
        if not num_responses:
            return None
        return DemonstrationStats(
            num_responses=num_responses,
            loss=token_mean([term.losses.cpu() for term in self.demonstrations]),
            probability=token_mean([term.probabilities.cpu() for term in self.demonstrations]),
        )


def token_mean(parts: Sequence[Tensor]) -> float:
    """Return mean over the tokens of all parts; 0 where there are none."""
    return float(torch.cat(list(parts)).double().mean()) if parts else 0.0


def _half_means(distances: Mapping[BatchSource, Sequence[Tensor]]) -> dict[BatchSource, float]:
    return {source: token_mean(distances[source]) / 2 for source in BatchSource if source in distances}
