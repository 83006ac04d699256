"""BAPO and its form without thresholds."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bapo.config.method.fields import Capacity, StepInterval, Threshold, ThresholdRange
from bapo.config.section import Section


class FilterConfig(Section):
    """Which fresh groups become X1 (arXiv:2602.20722, A.3)."""

    type: Literal["range", "gaussian", "uniform"] = "range"
    """`range` keeps every group with mixed rewards; `gaussian` keeps those with a probability that peaks at `mean`;
    `uniform` keeps a random share of all fresh groups."""
    mean: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Accuracy that the gaussian filter always keeps."""
    std: Annotated[float, Field(ge=0.001, le=10)] = 0.2
    """Standard deviation of the gaussian filter, in accuracy."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.6
    """Share of the fresh groups that the uniform filter keeps."""


class DifficultBufferConfig(Section):
    """B_bad: prompts whose latest known accuracy is at most c1."""

    capacity: Capacity | None = None
    """Prompts held. Empty: as many as the training batch size B, as in the paper."""


class HighQualityBufferConfig(Section):
    """B_high: complete groups whose accuracy lay in [c2, c3]."""

    capacity: Capacity | None = None
    """Groups held. Empty: no limit but the age."""
    max_age_steps: StepInterval = 3
    """Steps after which a group is no longer reused."""


class BapoConfig(Section):
    """BAPO: fresh, re-evaluated and reused groups make the training batch (arXiv:2602.20722)."""

    type: Literal["bapo"] = "bapo"
    v: StepInterval = 5
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    m: StepInterval = 5
    """Re-evaluation interval m: difficult prompts are answered again by the current policy every m steps."""
    c1: Threshold = Fraction(1, 8)
    """Difficulty threshold c1: a prompt with accuracy of at most c1 enters the difficult buffer."""
    c2: ThresholdRange = (Fraction(1, 8), Fraction(4, 8))
    """Lower reuse threshold c2: its value at r_tot = 0 and at r_tot = 1 (Eq. 8)."""
    c3: ThresholdRange = (Fraction(2, 8), Fraction(5, 8))
    """Upper reuse threshold c3: its value at r_tot = 0 and at r_tot = 1 (Eq. 8)."""
    max_reevaluated_prompts: Annotated[int, Field(ge=0, le=1_000_000)] = 128
    """Most difficult prompts answered again in one re-evaluation."""
    without: frozenset[Literal["reevaluated", "reused"]] = frozenset()
    """Parts left out for an ablation: `reevaluated` (no X2), `reused` (no X3)."""
    filter: FilterConfig = FilterConfig()
    """Which fresh groups become X1."""
    difficult_buffer: DifficultBufferConfig = DifficultBufferConfig()
    """B_bad."""
    high_quality_buffer: HighQualityBufferConfig = HighQualityBufferConfig()
    """B_high."""

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Self:
        # Both thresholds are linear in r_tot, so c2 ≤ c3 everywhere if it holds at both ends.
        for r_tot, lower, upper in zip((0, 1), self.c2, self.c3, strict=True):
            if lower > upper:
                raise ValueError(
                    f"method.c2|c2 = {float(lower):g} is above c3 = {float(upper):g} at r_tot = {r_tot}: "
                    f"lower c2 to at most {float(upper):g} there, or raise c3"
                )
        return self


class BapoMiniConfig(Section):
    """BAPO without thresholds: all-wrong prompts are answered again, accuracy exactly 1/2 is reused (§5.2)."""

    type: Literal["bapo_mini"] = "bapo_mini"
    v: StepInterval = 5
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    m: StepInterval = 5
    """Re-evaluation interval m: all-wrong prompts are answered again by the current policy every m steps."""
    max_reevaluated_prompts: Annotated[int, Field(ge=0, le=1_000_000)] = 128
    """Most all-wrong prompts answered again in one re-evaluation."""
    difficult_buffer: DifficultBufferConfig = DifficultBufferConfig()
    """The all-wrong prompts."""
    high_quality_buffer: HighQualityBufferConfig = HighQualityBufferConfig()
    """The groups with accuracy exactly 1/2."""
