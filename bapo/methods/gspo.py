"""GSPO (arXiv:2507.18071): batches as GRPO makes them; what differs is the loss.

The ratio of every token is its response's, s = (π_θ(y|x) / b(y|x))^(1/|y|) (Eq. 7): `bapo.losses.sequence_ratios`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from bapo.config.method import Look, MethodSection
from bapo.methods.grpo import Grpo


class GspoConfig(MethodSection):
    """GSPO: GRPO with one length-normalised ratio per response, clipped as a whole (arXiv:2507.18071)."""

    label: ClassVar = "GSPO"
    look: ClassVar = Look(3, "solid", "pentagon")
    aggregation: ClassVar = "response-mean"
    # §5.1.
    clip_range: ClassVar = (3e-4, 4e-4)
    num_updates: ClassVar = 4
    ratio_level: ClassVar = "sequence"
    is_on_policy: ClassVar = True
    is_replayable: ClassVar = True
    state_family: ClassVar = "grpo"

    type: Literal["gspo"] = "gspo"


class Gspo(Grpo):
    """Trains once on every fresh group."""

    config_class: ClassVar = GspoConfig
