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
class Objective:
    """Settings of the policy loss."""

    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float | None = None
    kl_coefficient: float = 0.0
    kl_estimator: KlEstimator = "unbiased"
    kl_reference_share: float = 0.0
    """Share of the KL penalty that is to the reference policy; the rest is to the behaviour policy."""
    entropy_coefficient: float = 0.0
    aggregation: Aggregation = "token-mean"
    ratio_level: RatioLevel = "token"
    shifts_clip_range: bool = False
    """Clip around π_k / b, of the policy π_k before the step's update, in place of 1."""
    behaviour_ratio_cap: float | None = None
    """Clip π_θ / π_k, and weigh the token by π_k / b up to this. None: clip π_θ / b."""
    sample_deviation: bool = False
    """Divide by the sample deviation of a group's rewards, in place of the population's."""
    drops_overlong: bool = False
    """Leave responses that were cut at the token limit out of the loss."""

    @property
    def needs_reference(self) -> bool:
        """True if the loss reads log-probabilities of the reference policy."""
        return self.kl_coefficient > 0 and self.kl_reference_share > 0

    @property
    def needs_current(self) -> bool:
        """True if the loss reads log-probabilities of π_k, the policy before the step's update."""
        return self.shifts_clip_range or self.behaviour_ratio_cap is not None
