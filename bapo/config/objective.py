"""The objective in force: the `loss` section with what it leaves to the method filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Aggregation = Literal["token-mean", "response-mean"]
RatioLevel = Literal["token", "sequence"]
KlEstimator = Literal["unbiased", "low_var_kl"]

_AGGREGATIONS: Mapping[str, Aggregation] = dict.fromkeys(("grpo", "grpo_delayed", "gspo", "mopps"), "response-mean")
"""Methods whose mean runs over responses (arXiv:2602.20722, Eq. 1); that of all others runs over tokens."""
_CLIP_RANGES: Mapping[str, tuple[float, float]] = {"dapo": (0.2, 0.28), "gspo": (3e-4, 4e-4)}
"""Clip ranges that belong to the method: arXiv:2503.14476, §3.1; arXiv:2507.18071, §5.1."""
_RATIO_LEVELS: Mapping[str, RatioLevel] = {"gspo": "sequence"}


def default_aggregation(method_type: str) -> Aggregation:
    """The method's own mean."""
    return _AGGREGATIONS.get(method_type, "token-mean")


def default_clip_range(method_type: str) -> tuple[float, float]:
    """The method's own ε_low and ε_high."""
    return _CLIP_RANGES.get(method_type, (0.2, 0.2))


def default_ratio_level(method_type: str) -> RatioLevel:
    """What the method's ratio is taken of."""
    return _RATIO_LEVELS.get(method_type, "token")


@dataclass(frozen=True, slots=True)
class LengthPenalty:
    """What a response near the token limit loses of its reward (arXiv:2503.14476, §3.4)."""

    limit_tokens: int
    """L_max: longest response."""
    buffer_tokens: int
    """L_cache: the last tokens before the limit, over which the penalty grows from 0."""
    penalty: float
    """At the limit."""


@dataclass(frozen=True, slots=True)
class Objective:
    """Everything that the policy loss depends on besides the data."""

    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float | None = None
    kl_coefficient: float = 0.0
    kl_estimator: KlEstimator = "unbiased"
    entropy_coefficient: float = 0.0
    aggregation: Aggregation = "token-mean"
    ratio_level: RatioLevel = "token"
