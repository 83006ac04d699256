"""ARPO."""

from __future__ import annotations

from typing import Literal

from bapo.config.method.fields import Capacity, StepInterval
from bapo.config.section import Section


class ArpoConfig(Section):
    """ARPO's replay rule: stored groups with a reward are used only where a batch has none (arXiv:2505.16282)."""

    type: Literal["arpo"] = "arpo"
    v: StepInterval = 1
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    capacity: Capacity = 256
    """Groups held."""
