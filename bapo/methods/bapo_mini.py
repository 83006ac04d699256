"""BAPO without thresholds (arXiv:2602.20722, §5.2)."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.errors import broken_rule
from bapo.config.method import DelayedSection, Look, RunSections, StepInterval
from bapo.methods.bapo import Bapo, BapoConfig, DifficultBufferConfig, HighQualityBufferConfig


class BapoMiniConfig(DelayedSection):
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


class BapoMini(Bapo):
    """BAPO's batches, by the thresholds of `as_bapo`."""

    config_class: ClassVar = BapoMiniConfig
