"""BAPO as in the code that its authors released (arXiv:2602.20722; see PAPERS.md)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Literal

from bapo.config.method import Look, ThresholdRange
from bapo.config.objective import DecoupledClip
from bapo.draws import generator
from bapo.methods.bapo import Bapo, BapoConfig
from bapo.methods.bapo_lines import REEVALUATE_RELEASED, bapo_lines
from bapo.methods.lines import Line, WalkedStep
from bapo.rollout import RolloutGroup


class BapoReleaseConfig(BapoConfig):
    """BAPO by the rules of the code that its authors released, where it differs from the paper (arXiv:2602.20722)."""

    label: ClassVar = "BAPO (release)"
    look: ClassVar = Look(13, "dash", "circle-x")
    ablation_looks: ClassVar = {}
    clip_range: ClassVar = (0.2, 0.28)
    surrogate: ClassVar = DecoupledClip
    sample_deviation: ClassVar = True
    # Re-evaluation does not follow BAPO's rules.
    is_replayable: ClassVar = False

    type: Literal["bapo_release"] = "bapo_release"  # type: ignore[assignment]
    # From (4/8, 5/8) at a mean accuracy of 0.2 down to (1/8, 2/8) at 0.8, and on at the same slope beyond.
    c2: ThresholdRange = (Fraction(5, 8), Fraction(0))
    """Lower reuse threshold c2: its value at r_tot = 0 and at r_tot = 1 (Eq. 8)."""
    c3: ThresholdRange = (Fraction(6, 8), Fraction(1, 8))
    """Upper reuse threshold c3: its value at r_tot = 0 and at r_tot = 1 (Eq. 8)."""


class BapoRelease(Bapo):
    """Difficult prompts are drawn at random and stay stored; X2 is what is above the accuracy they were stored with."""

    config_class: ClassVar = BapoReleaseConfig

    def prompts_to_reevaluate(self, step: int) -> Sequence[str]:
        if step % self._method.m or "reevaluated" in self._method.without:
            return ()
        fresh = {group.prompt_id for group in self._fresh}
        candidates = [prompt_id for prompt_id in self._difficult.prompt_ids if prompt_id not in fresh]
        num_prompts = min(len(candidates), self._method.max_reevaluated_prompts)
        return generator(self._seed, step, "reevaluate").sample(candidates, num_prompts)

    def _outcome(self, group: RolloutGroup, step: int) -> str:
        """Return improved if μ' > μ_old, solved prompts included; no prompt leaves."""
        return "improved" if group.num_correct > self._difficult[group.prompt_id].num_correct else "still_difficult"

    def lines(self, step: WalkedStep) -> Sequence[Line]:
        return bapo_lines(step, self._method, reevaluate=REEVALUATE_RELEASED)
