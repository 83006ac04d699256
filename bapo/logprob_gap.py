"""Difference in log-probabilities between generation and training, on the same weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from bapo.config.objective import Objective
from bapo.losses import response_means
from bapo.records import LogprobGap

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, slots=True)
class GapSums:
    """Sums from which `LogprobGap` is computed; those of parts of the tokens add up."""

    num_tokens: int = 0
    total: float = 0.0
    """Sum of |Δ|."""
    largest: float = 0.0
    num_outside: int = 0
    """Tokens whose ratio Δ alone takes out of the clip range."""

    def __add__(self, other: GapSums) -> GapSums:
        return GapSums(
            self.num_tokens + other.num_tokens,
            self.total + other.total,
            max(self.largest, other.largest),
            self.num_outside + other.num_outside,
        )

    def gap(self) -> LogprobGap | None:
        """Return the gap; None if there are no tokens: nothing was measured."""
        if not self.num_tokens:
            return None
        share = self.num_outside / self.num_tokens
        mean = self.total / self.num_tokens
        return LogprobGap(mean=mean, max=self.largest, outside_clip_range=share, num_tokens=self.num_tokens)


def gap_sums(differences: Float[Tensor, "tokens"], lengths: Sequence[int], objective: Objective) -> GapSums:
    """Return sums over Δ = log π(token) as trained on - log π(token) as generated, both of the same weights.

    The ratio, which equal implementations would make 1, is e^Δ, or e^mean(Δ) of the response at `ratio_level`
    "sequence". It is outside where it is below 1 - ε_low or above 1 + ε_high. None is where the objective clips the
    ratio to the policy before the update, or around it: the trainer gives both log-probabilities.
    """
    if not len(differences):
        return GapSums()
    ratios = (response_means(differences, lengths) if objective.ratio_level == "sequence" else differences).exp()
    clip = objective.surrogate
    is_outside = (ratios < 1 - clip.clip_low) | (ratios > 1 + clip.clip_high)
    num_outside = 0 if objective.needs_current else int(is_outside.sum())
    distances = differences.double().abs()
    return GapSums(len(differences), float(distances.sum()), float(distances.max()), num_outside)
