"""PPO with a critic, and batch adaptation on it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bapo.config.method.bapo import BapoConfig
from bapo.config.section import Section


class CriticConfig(Section):
    """The value model that PPO's advantages come from."""

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-3
    """Adam's learning rate for the critic."""
    gae_lambda: Annotated[float, Field(ge=0, le=1)] = 1.0
    """λ of generalised advantage estimation: 1 takes what came, 0 what the critic says of the next token."""
    discount: Annotated[float, Field(gt=0, le=1)] = 1.0
    """γ per token; 1 weighs a reward alike however long the response is."""
    value_clip: Annotated[float, Field(gt=0, le=100)] = 0.5
    """Most that a value may move within a step before its gradient is cut, in rewards."""
    warmup_steps: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """First steps of the run, in which only the critic is trained and the policy stays as it is."""


class PpoConfig(Section):
    """PPO: fresh groups with the advantages of a critic (arXiv:1707.06347)."""

    type: Literal["ppo"] = "ppo"
    epochs: Annotated[int, Field(ge=1, le=100)] = 1
    """Passes over each batch."""
    critic: CriticConfig = CriticConfig()
    """The value model."""


class BaPpoConfig(BapoConfig):
    """BA-PPO: BAPO's batches with the advantages of a critic (arXiv:2602.20722, A.9)."""

    type: Literal["ba_ppo"] = "ba_ppo"  # type: ignore[assignment]
    critic: CriticConfig = CriticConfig()
    """The value model."""
