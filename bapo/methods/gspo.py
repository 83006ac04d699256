"""GSPO (arXiv:2507.18071): batches as GRPO makes them; what differs is the loss.

The ratio of every token is its response's, s = (π_θ(y|x) / b(y|x))^(1/|y|) (Eq. 7): `bapo.losses.sequence_ratios`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

from bapo.config.errors import ConfigProblem
from bapo.config.method import Look, MethodSection
from bapo.config.method.base import RunSections, makes_one_update
from bapo.methods.grpo import Grpo


class GspoConfig(MethodSection):
    """GSPO: GRPO with one length-normalised ratio per response, clipped as a whole (arXiv:2507.18071)."""

    label: ClassVar = "GSPO"
    look: ClassVar = Look(3, "solid", "pentagon")
    aggregation: ClassVar = "response-mean"
    # §5.1.
    clip_range: ClassVar = (3e-4, 4e-4)
    ratio_level: ClassVar = "sequence"
    is_on_policy: ClassVar = True
    is_replayable: ClassVar = True
    state_family: ClassVar = "grpo"

    type: Literal["gspo"] = "gspo"

    def warnings(self, config: RunSections) -> Iterable[ConfigProblem]:
        """Warn about ratios that cannot leave 1: the first update of a batch is GRPO's, and there is no second one."""
        if makes_one_update(config.training):
            yield ConfigProblem(
                "training.mini_batch_size",
                config.training.mini_batch_size,
                "with one update per step every ratio is 1, nothing is clipped, and GSPO does what GRPO does: give "
                f"less than training.batch_size, such as {max(1, config.training.batch_size // 4)} (the source takes "
                "four mini-batches)",
            )


class Gspo(Grpo):
    """Trains once on every fresh group."""

    config_class: ClassVar = GspoConfig
