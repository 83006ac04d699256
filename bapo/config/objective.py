"""The objective in force: the `loss` section with what it leaves to the method filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Aggregation = Literal["token-mean", "response-mean"]
RatioLevel = Literal["token", "sequence"]
KlEstimator = Literal["unbiased", "low_var_kl"]


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
    entropy_coefficient: float = 0.0
    aggregation: Aggregation = "token-mean"
    ratio_level: RatioLevel = "token"
