"""ReMix on GRPO: reincarnating mix-policy proximal policy gradient (arXiv:2507.06892)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.method import Capacity, DelayedSection, Look, StepInterval
from bapo.config.objective import ShiftedClip
from bapo.methods.lines import Rule
from bapo.methods.mixing import MixingMethod
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem


class RemixConfig(DelayedSection):
    """ReMix on GRPO: a fixed mix of fresh and stored groups, updated on more than once (arXiv:2507.06892)."""

    label: ClassVar = "ReMix"
    look: ClassVar = Look(9, "dash", "star-diamond")
    surrogate: ClassVar = ShiftedClip
    reuses_groups: ClassVar = True

    type: Literal["remix"] = "remix"
    reused_share: Annotated[float, Field(ge=0, lt=1)] = 0.4
    """Share p of the training batch that comes from the buffer; only the rest is rolled out."""
    updates_per_batch: Annotated[int, Field(ge=1, le=100)] = 2
    """Passes m over each training batch: the update-to-data ratio."""
    reincarnation_step: Annotated[int, Field(ge=1, le=10_000_000)] | None = 50
    """Last step T of mixed training; after it every batch is fresh, current and used once. Empty: mixed to the end."""
    kl_base_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """λ: share of the KL penalty that is to the base model; the rest is to the policies that generated the batch. Used
    where `loss.kl_to` is `auto`."""
    capacity: Capacity | None = None
    """Maximum number of groups stored, one per prompt. Empty: no limit."""
    max_age_steps: StepInterval | None = 2
    """Steps after which a stored group is no longer reused. Empty: no limit."""

    def kl_reference_share(self) -> float:
        """Return λ of the KL-convex constraint."""
        return self.kl_base_share


class Remix(MixingMethod):
    """Up to step T: a share p of each batch from the last N steps, and m updates on it; afterwards on-policy GRPO."""

    config_class: ClassVar = RemixConfig
    _method: RemixConfig
    stores: ClassVar[Rule] = Rule(
        "Store every fresh group while training is mixed.",
        "Each of the next steps may draw it again.",
    )
    reuses: ClassVar[Rule] = Rule(
        "Take a fixed share of the batch from the last steps.",
        "Early training needs many updates more than it needs new answers (arXiv:2507.06892).",
    )

    def _is_mixed(self, step: int) -> bool:
        """Return whether training is still mixed, before the reincarnation (t ≤ T)."""
        return self._method.reincarnation_step is None or step <= self._method.reincarnation_step

    def syncs_rollout_policy(self, step: int) -> bool:
        return not self._is_mixed(step) or super().syncs_rollout_policy(step)

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        return scheduled[: self._num_fresh(step)]

    def num_passes(self, step: int) -> int:
        return self._method.updates_per_batch if self._is_mixed(step) else 1

    def _reused_share(self, step: int) -> Fraction:
        return Fraction(str(self._method.reused_share)) if self._is_mixed(step) else Fraction(0)

    def _is_stored(self, group: RolloutGroup, step: int) -> bool:
        return self._is_mixed(step)
