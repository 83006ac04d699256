"""The value model of methods with a critic, and their common part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from pydantic import Field

from bapo.config.errors import ConfigProblem
from bapo.config.method.base import MethodSection, RunSections
from bapo.config.section import Section


class CriticConfig(Section):
    """The value model that PPO's advantages come from."""

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-3
    """Adam's learning rate for the critic."""
    gae_lambda: Annotated[float, Field(ge=0, le=1)] = 1.0
    """λ of generalised advantage estimation: 1 uses the rewards alone, 0 the critic's value of the next token."""
    discount: Annotated[float, Field(gt=0, le=1)] = 1.0
    """γ per token; with 1 a reward counts the same however long the response is."""
    value_clip: Annotated[float, Field(gt=0, le=100)] = 0.5
    """Maximum change of a value within a step before its gradient is cut, in rewards."""
    warmup_steps: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """First steps of the run, which train only the critic; the policy does not change."""


class ActorCritic(MethodSection):
    """Common part of both methods with a critic."""

    has_critic: ClassVar = True

    critic: CriticConfig = CriticConfig()
    """The value model."""

    def warnings(self, config: RunSections) -> Iterable[ConfigProblem]:
        """Warn about a warm-up that lasts the whole run: it is useful only to a fork that continues from it."""
        yield from super().warnings(config)
        steps = config.training.steps
        if steps is not None and self.critic.warmup_steps >= steps:
            yield ConfigProblem(
                "method.critic.warmup_steps",
                self.critic.warmup_steps,
                f"the run has {steps} steps, so that only its critic is trained and the policy never moves: give "
                "fewer, or more training.steps",
            )
