"""Terms of the policy improvement bound, measured on the responses of a batch (arXiv:2602.20722, Theorem 3.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from bapo.advantages import group_advantages
from bapo.engines.local.batches import TrainingGroup
from bapo.records import BoundTerms
from bapo.rollout import BatchSource

INTERVAL_STEPS = 7
"""Steps between two measurements, each of which costs a forward pass over the batch. A prime, so that over a run they
meet every phase of the usual intervals v and m."""
_MAX_LOG_RATIO = 20.0


def is_measured(step: int) -> bool:
    """Return whether the step is the first of its interval."""
    return step % INTERVAL_STEPS == 1


def bound_terms(
    groups: Sequence[TrainingGroup], before: Mapping[TrainingGroup, Tensor], after: Mapping[TrainingGroup, Tensor]
) -> BoundTerms | None:
    """Return the mean terms of each source's groups, from the tokens' log-probabilities before and after the update.

    ρ = π_θ(y|x) / α(y|x) of a whole response y after the update, ρ_t the same before it, r̄ the group's mean reward:
    J(π_θ) - J(π_θt) = mean (ρ - ρ_t)·(r - r̄),  L_α = mean ρ·Â (Eq. 22),  TV(π_θ, α) = ½·mean|ρ - 1|.

    E[ρ] = E[ρ_t] = 1 over α's responses, so that subtracting r̄ takes noise away and leaves the mean.
    """
    found: dict[BatchSource, list[Tensor]] = defaultdict(list)
    for group in groups:
        if group in after:
            found[group.source].append(_terms(group, before[group], after[group]))
    if not found:
        return None
    means = {source: torch.stack(found[source]).mean(0).tolist() for source in BatchSource if source in found}
    improvement, surrogate, distance = ({source: each[i] for source, each in means.items()} for i in range(3))
    return BoundTerms(improvement=improvement, surrogate=surrogate, tv_sequences=distance)


def _terms(group: TrainingGroup, before: Tensor, after: Tensor) -> Tensor:
    rewards = torch.tensor(group.payload.rewards, dtype=torch.float64)
    ratios, ratios_before = _ratios(group, after), _ratios(group, before)
    centred = rewards - rewards.mean()
    return torch.stack(
        [
            ((ratios - ratios_before) * centred).mean(),
            (ratios * group_advantages(rewards.unsqueeze(0))[0]).mean(),
            (ratios - 1).abs().mean() / 2,
        ]
    )


def _ratios(group: TrainingGroup, logprobs: Tensor) -> Tensor:
    """Return ρ of each response."""
    log_ratios = logprobs.detach().cpu().double() - group.payload.sampled.logprobs.double()
    sums = torch.stack([each.sum() for each in torch.split(log_ratios, list(group.payload.sampled.lengths))])
    return sums.clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO).exp()
