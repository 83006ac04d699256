"""PPO (arXiv:1707.06347) on verified rewards: GRPO's batches, with the advantages of a critic."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.method import ActorCritic, Look
from bapo.methods.grpo import Grpo


class PpoConfig(ActorCritic):
    """PPO: fresh groups with the advantages of a critic (arXiv:1707.06347)."""

    label: ClassVar = "PPO"
    look: ClassVar = Look(7, "dash", "triangle-up-open")
    is_on_policy: ClassVar = True
    is_replayable: ClassVar = True

    type: Literal["ppo"] = "ppo"
    epochs: Annotated[int, Field(ge=1, le=100)] = 1
    """Passes over each batch."""


class Ppo(Grpo):
    """Trains on every fresh group, `epochs` times; those with equal rewards have a gradient too."""

    config_class: ClassVar = PpoConfig
    _method: PpoConfig

    def num_passes(self, step: int) -> int:
        return self._method.epochs
