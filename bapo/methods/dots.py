"""DOTS: difficulty-targeted online data selection with rollout replay (arXiv:2506.05316)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bapo.config.method import Capacity, DelayedSection, Look, StepInterval
from bapo.config.run import RunConfig
from bapo.draws import generator
from bapo.methods.lines import Rule
from bapo.methods.mixing import MixingMethod
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem


class DotsConfig(DelayedSection):
    """DOTS: prompts chosen by predicted difficulty, with the most recent valid groups (arXiv:2506.05316)."""

    label: ClassVar = "DOTS"
    look: ClassVar = Look(11, "dot", "hexagram")
    reuses_groups: ClassVar = True
    chooses_prompts: ClassVar = True

    type: Literal["dots"] = "dots"
    target_accuracy: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """γ*: success rate that the chosen prompts should have."""
    candidates: Annotated[int, Field(ge=1, le=1000)] = 8
    """Prompts drawn at random for each one that is rolled out."""
    reference_prompts: Annotated[int, Field(ge=1, le=4096)] = 256
    """K: the most recently answered prompts, whose accuracies predict those of others."""
    selection_temperature: Annotated[float, Field(gt=0, le=100)] = 1e-3
    """τ: a candidate's chance to be chosen falls e-fold per τ of distance from the target."""
    fresh_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share δ of the training batch that is rolled out in the step; the rest comes from the buffer."""
    capacity: Capacity | None = None
    """Maximum number of groups stored, one per prompt. Empty: the training batch size B."""
    max_age_steps: StepInterval | None = None
    """Steps after which a stored group is no longer reused. Empty: no limit."""


class Dots(MixingMethod):
    """Rolls out prompts whose predicted success rate is near the target, and fills up with recent valid groups."""

    config_class: ClassVar = DotsConfig
    _method: DotsConfig
    rolls_out: ClassVar[Rule] = Rule(
        "Predict each candidate's success rate from prompts like it, and roll out those near the target.",
        "Prompts of middling difficulty have the largest gradient (arXiv:2506.05316).",
    )
    stores: ClassVar[Rule] = Rule(
        "Store the fresh groups with mixed rewards, the oldest making room.",
        "Only these can teach when they are trained on again.",
    )
    reuses: ClassVar[Rule] = Rule(
        "Fill the batch with recent stored groups.",
        "A fixed share of the batch costs no rollout.",
    )

    def __init__(self, config: RunConfig) -> None:
        # NumPy takes longer to import than all methods together: only a trainer waits for it.
        from bapo.difficulty_predictor import ReferencePrompts  # noqa: PLC0415

        self._references = ReferencePrompts()
        super().__init__(config)

    def reconfigure(self, config: RunConfig) -> None:
        super().reconfigure(config)
        self._references.forget_all_but(self._method.reference_prompts)

    def _capacity(self) -> int:
        return self._method.capacity or self._batch_size

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        num_chosen = min(self._num_fresh(step), len(pool))
        chosen = self._drawn(step, pool, num_chosen) if self._references else scheduled[:num_chosen]
        self._references.read(chosen)
        return chosen

    def _drawn(self, step: int, pool: Sequence[Problem], num_chosen: int) -> list[Problem]:
        """Draw without replacement with chances ∝ exp(-|p̂ - γ*|/τ): the largest after adding Gumbel noise."""
        method, draw = self._method, generator(self._seed, step, "choice")
        num_candidates = min(method.candidates * num_chosen, len(pool))
        candidates = generator(self._seed, step, "candidates").sample(pool, num_candidates)
        scores = [
            -abs(each - method.target_accuracy) / method.selection_temperature - math.log(draw.expovariate(1.0))
            for each in self._references.predicted(candidates, pool)
        ]
        ranked = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        return [candidates[place] for place in ranked[:num_chosen]]

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        super().observe_fresh(step, fresh)
        self._references.observe(fresh)
        self._references.forget_all_but(self._method.reference_prompts)

    def _reused_share(self, step: int) -> Fraction:
        return 1 - Fraction(str(self._method.fresh_share))

    def _is_stored(self, group: RolloutGroup, step: int) -> bool:
        return not group.is_homogeneous

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "references": self._references.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        super().load_state_dict(state, payloads)
        self._references.load_state_dict(state["references"])
        self._references.forget_all_but(self._method.reference_prompts)
