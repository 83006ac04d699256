"""Belief about each prompt's success rate: a Beta distribution that forgets (arXiv:2507.04632)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from bapo.rollout import RolloutGroup


class SuccessRates:
    """α and β of every prompt that was answered; all others have the prior α⁰ = β⁰."""

    def __init__(self) -> None:
        self._parameters: dict[str, tuple[float, float]] = {}

    def parameters(self, prompt_id: str, prior: float) -> tuple[float, float]:
        """Return α and β of the prompt."""
        return self._parameters.get(prompt_id, (prior, prior))

    def draw(self, prompt_id: str, prior: float, random: Random) -> float:
        """Draw γ̂ ~ Beta(α, β), the prompt's success rate."""
        return random.betavariate(*self.parameters(prompt_id, prior))

    def observe(self, group: RolloutGroup, *, decay: float, prior: float) -> None:
        """Update with s right ones of G responses, earlier counts fading towards the prior.

        α ← λ·α + (1 - λ)·α⁰ + s,  β ← λ·β + (1 - λ)·β⁰ + G - s  (arXiv:2507.04632, the recursive update with
        temporal discounting).
        """
        alpha, beta = self.parameters(group.prompt_id, prior)
        kept = (1 - decay) * prior
        num_wrong = group.group_size - group.num_correct
        self._parameters[group.prompt_id] = (
            decay * alpha + kept + group.num_correct,
            decay * beta + kept + num_wrong,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the state, JSON-ready: prompt id → [α, β]."""
        return {prompt_id: list(values) for prompt_id, values in self._parameters.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self._parameters = {prompt_id: (alpha, beta) for prompt_id, (alpha, beta) in state.items()}
