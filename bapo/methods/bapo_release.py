"""BAPO's re-evaluation as in the code that its authors released (arXiv:2602.20722; see PAPERS.md)."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.draws import generator
from bapo.methods.bapo import Bapo
from bapo.methods.bapo_lines import REEVALUATE_RELEASED, bapo_lines
from bapo.methods.lines import Line, WalkedStep
from bapo.rollout import RolloutGroup


class BapoRelease(Bapo):
    """Difficult prompts are drawn at random and stay stored; X2 is what is above the accuracy they were stored with."""

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
