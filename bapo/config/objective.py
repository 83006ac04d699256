"""The objective in force: the `loss` section with what it leaves to the method filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Aggregation = Literal["token-mean", "response-mean"]
RatioLevel = Literal["token", "sequence"]
KlEstimator = Literal["unbiased", "low_var_kl"]
KlTo = Literal["behaviour", "reference"]


@dataclass(frozen=True, slots=True)
class LengthPenalty:
    """Penalty on the reward of a response near the token limit (arXiv:2503.14476, §3.4)."""

    limit_tokens: int
    """L_max: longest response."""
    buffer_tokens: int
    """L_cache: the last tokens before the limit, over which the penalty grows from 0."""
    penalty: float
    """At the limit."""


@dataclass(frozen=True, slots=True)
class Clipped:
    """PPO-clip of the ratio to the behaviour policy (arXiv:1707.06347, Eq. 7)."""

    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float | None = None
    """Bound on the loss of a negative advantage, as a multiple of the advantage; None: no bound."""


@dataclass(frozen=True, slots=True)
class ShiftedClip(Clipped):
    """The same around π_k / b, of the policy π_k before the step's update, in place of 1 (arXiv:2507.06892)."""


@dataclass(frozen=True, slots=True)
class DecoupledClip(Clipped):
    """PPO-clip of π_θ / π_k, with each token weighed by π_k / b up to a cap (released code of arXiv:2602.20722)."""

    cap: float = 3.0


Surrogate = Clipped | ShiftedClip | DecoupledClip
"""Policy term of the loss; `bapo.losses` computes each."""


@dataclass(frozen=True, slots=True)
class Objective:
    """Settings of the policy loss."""

    surrogate: Surrogate = Clipped()
    kl_coefficient: float = 0.0
    kl_estimator: KlEstimator = "unbiased"
    kl_reference_share: float = 0.0
    """Share of the KL penalty that is to the reference policy; the rest is to the behaviour policy."""
    entropy_coefficient: float = 0.0
    aggregation: Aggregation = "token-mean"
    ratio_level: RatioLevel = "token"
    sample_deviation: bool = False
    """Divide by the sample deviation of a group's rewards, in place of the population's."""
    demonstration_shaping: float | None = None
    """γ of the weight π/(π + γ) of a demonstration's tokens; None if the loss holds no demonstrations."""
    drops_overlong: bool = False
    """Leave responses that were cut at the token limit out of the loss."""

    @property
    def needs_reference(self) -> bool:
        """True if the loss reads log-probabilities of the reference policy."""
        return self.kl_coefficient > 0 and self.kl_reference_share > 0

    @property
    def needs_current(self) -> bool:
        """True if the loss reads log-probabilities of π_k, the policy before the step's update."""
        return isinstance(self.surrogate, ShiftedClip | DecoupledClip)
