"""BAPO, and its variant without thresholds."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from bapo.config.errors import ConfigError, ConfigProblem, broken_rule
from bapo.config.method.base import Look, MethodSection, RunSections
from bapo.config.method.fields import Capacity, StepInterval, Threshold, ThresholdRange
from bapo.config.section import Section
from bapo.thresholds import admitting_r_tot_intervals, empty_r_tot_intervals


class FilterConfig(Section):
    """The filter of the fresh groups that become X1 (arXiv:2602.20722, A.3)."""

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
    """Maximum number of prompts stored. Empty: the training batch size B, as in the paper."""


class HighQualityBufferConfig(Section):
    """B_high: complete groups whose accuracy was within [c2, c3]."""

    capacity: Capacity | None = None
    """Maximum number of groups stored. Empty: limited by their age alone."""
    max_age_steps: StepInterval = 3
    """Steps after which a group is no longer reused."""


class BapoConfig(MethodSection):
    """BAPO: fresh, re-evaluated and reused groups make the training batch (arXiv:2602.20722)."""

    label: ClassVar = "BAPO"
    look: ClassVar = Look(0, "solid", "circle")
    parts: ClassVar = {"reevaluated": "X2", "reused": "X3"}
    ablation_looks: ClassVar = {
        "X2": Look(4, "dash", "diamond"),
        "X3": Look(3, "dash", "diamond-tall"),
        "X2, X3": Look(6, "dash", "diamond-wide"),
    }
    # Eq. 3.
    kl_to: ClassVar = "behaviour"
    filters_fresh: ClassVar = True
    has_thresholds: ClassVar = True
    reevaluates: ClassVar = True
    reuses_groups: ClassVar = True
    is_replayable: ClassVar = True
    steerable: ClassVar = ("c1", "c2", "c3", "v", "m", "max_reevaluated_prompts")
    state_family: ClassVar[str | None] = "bapo"

    type: Literal["bapo"] = "bapo"
    v: StepInterval = 5
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    m: StepInterval = 5
    """Re-evaluation interval m: the current policy answers difficult prompts again every m steps."""
    c1: Threshold = Fraction(1, 8)
    """Difficulty threshold c1: a prompt with accuracy of at most c1 enters the difficult buffer."""
    c2: ThresholdRange = (Fraction(1, 8), Fraction(4, 8))
    """Lower reuse threshold c2: its value at r_tot = 0 and at r_tot = 1 (Eq. 8)."""
    c3: ThresholdRange = (Fraction(2, 8), Fraction(5, 8))
    """Upper reuse threshold c3: its value at r_tot = 0 and at r_tot = 1 (Eq. 8)."""
    max_reevaluated_prompts: Annotated[int, Field(ge=0, le=1_000_000)] = 128
    """Maximum number of difficult prompts answered again in one re-evaluation."""
    without: frozenset[Literal["reevaluated", "reused"]] = frozenset()
    """Parts left out for an ablation: `reevaluated` (no X2), `reused` (no X3)."""
    filter: FilterConfig = FilterConfig()
    """The filter of the fresh groups that become X1."""
    difficult_buffer: DifficultBufferConfig = DifficultBufferConfig()
    """B_bad."""
    high_quality_buffer: HighQualityBufferConfig = HighQualityBufferConfig()
    """B_high."""

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Self:
        # Both thresholds are linear in r_tot, so c2 ≤ c3 everywhere if it holds at both ends.
        for r_tot, lower, upper in zip((0, 1), self.c2, self.c3, strict=True):
            if lower > upper:
                raise broken_rule(
                    "method.c2",
                    f"c2 = {float(lower):g} is above c3 = {float(upper):g} at r_tot = {r_tot}: "
                    f"lower c2 to at most {float(upper):g} there, or raise c3",
                )
        return self

    def warnings(self, config: RunSections) -> Iterable[ConfigProblem]:
        """Refuse thresholds that can never admit a group into X3; name the r_tot where they do not."""
        if "reused" in self.without:
            return
        group_size = config.rollout.group_size
        ranges = [[float(bound) for bound in bounds] for bounds in (self.c2, self.c3)]
        remedy = f"widen the range to at least 1/{group_size}, or use a larger rollout.group_size"
        if not admitting_r_tot_intervals(self.c2, self.c3, group_size):
            problem = f"no accuracy k/{group_size} lies in [c2, c3] at any r_tot: {remedy}"
            raise ConfigError([ConfigProblem("method.c2", ranges, problem)])
        gaps = empty_r_tot_intervals(self.c2, self.c3, group_size)
        if gaps:
            named = ", ".join(f"({float(low):.3g}, {float(high):.3g})" for low, high in gaps)
            yield ConfigProblem(
                "method.c2",
                ranges,
                f"no accuracy k/{group_size} lies in [c2, c3] while r_tot is in {named}, so nothing is reused then: "
                f"{remedy}",
            )

    def as_bapo(self) -> BapoConfig:
        """Return the config itself."""
        return self


class BapoReleaseConfig(BapoConfig):
    """BAPO by the rules of the code that its authors released, where it differs from the paper (arXiv:2602.20722)."""

    label: ClassVar = "BAPO (release)"
    look: ClassVar = Look(13, "dash", "circle-x")
    ablation_looks: ClassVar = {}
    clip_range: ClassVar = (0.2, 0.28)
    behaviour_ratio_cap: ClassVar = 3.0
    sample_deviation: ClassVar = True
    # Re-evaluation does not follow BAPO's rules.
    is_replayable: ClassVar = False

    type: Literal["bapo_release"] = "bapo_release"  # type: ignore[assignment]
    # From (4/8, 5/8) at a mean accuracy of 0.2 down to (1/8, 2/8) at 0.8, and on at the same slope beyond.
    c2: ThresholdRange = (Fraction(5, 8), Fraction(0))
    """Lower reuse threshold c2: its value at r_tot = 0 and at r_tot = 1 (Eq. 8)."""
    c3: ThresholdRange = (Fraction(6, 8), Fraction(1, 8))
    """Upper reuse threshold c3: its value at r_tot = 0 and at r_tot = 1 (Eq. 8)."""


class BapoMiniConfig(MethodSection):
    """BAPO without thresholds: all-wrong prompts are answered again, accuracy exactly 1/2 is reused (§5.2)."""

    label: ClassVar = "BAPO (mini test)"
    look: ClassVar = Look(12, "dash", "circle-open")
    kl_to: ClassVar = "behaviour"
    filters_fresh: ClassVar = True
    reevaluates: ClassVar = True
    reuses_groups: ClassVar = True
    is_replayable: ClassVar = True
    steerable: ClassVar = ("v", "m", "max_reevaluated_prompts")
    state_family: ClassVar = "bapo"

    type: Literal["bapo_mini"] = "bapo_mini"
    v: StepInterval = 5
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    m: StepInterval = 5
    """Re-evaluation interval m: the current policy answers all-wrong prompts again every m steps."""
    max_reevaluated_prompts: Annotated[int, Field(ge=0, le=1_000_000)] = 128
    """Maximum number of all-wrong prompts answered again in one re-evaluation."""
    difficult_buffer: DifficultBufferConfig = DifficultBufferConfig()
    """The all-wrong prompts."""
    high_quality_buffer: HighQualityBufferConfig = HighQualityBufferConfig()
    """The groups with accuracy exactly 1/2."""

    def check(self, config: RunSections) -> None:
        group_size = config.rollout.group_size
        if group_size % 2:
            raise broken_rule(
                "rollout.group_size",
                f"{self.type} reuses groups with accuracy exactly 1/2, which an odd group size "
                f"({group_size}) cannot have: choose an even one",
            )

    def as_bapo(self) -> BapoConfig:
        """Return BAPO with c1 = 0 and c2 = c3 = 1/2 (§5.2).

        With c1 = 0 only all-wrong prompts are difficult and 0 < μ < 1 counts as improved; with c2 = c3 = 1/2 only
        groups with exactly half of the responses correct are reused.
        """
        half = (Fraction(1, 2), Fraction(1, 2))
        return BapoConfig(c1=Fraction(0), c2=half, c3=half, **self.model_dump(exclude={"type"}))
