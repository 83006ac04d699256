"""The `warm_start` section: supervised training of the base model on right responses, before RL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from bapo.config.section import Section

USUAL_STEPS = 30
"""Steps of a warm start that is asked for without a number of them, and by which a probe says what one costs."""
NUM_SAMPLES = 4
"""Responses to each problem that a warm start is evaluated on."""
NUM_ANSWERS = 8
"""Responses of the base to each problem that it makes traces of."""


@dataclass(frozen=True, slots=True)
class SupervisedRecipe:
    """Size and learning rate of supervised training."""

    num_steps: int
    batch_size: int
    """Responses per step."""
    learning_rate: float
    """Peak of the learning rate, from which half a cosine leads down."""
    warm_up_steps: int
    """Steps in which it rises linearly."""
    seed: int = 0


class WarmStartConfig(Section):
    """Supervised training of the base model on right responses, before the first step."""

    steps: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Steps of supervised training before the first training step; 0: none. The model that they make is kept on the
    machine and reused by every run with equal base model, task, `rollout.max_response_tokens` and `warm_start`."""
    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 12
    """Responses per step."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 5e-5
    """Peak learning rate."""
    source: Literal["auto", "solutions", "base"] = "auto"
    """`solutions`: worked solutions of training problems. `base`: the base model's own responses that the verifier
    accepts. `auto`: solutions where the task has some."""
    num_answered: Annotated[int, Field(ge=1, le=1_000_000)] = 64
    """Training problems that the base model answers, with the source `base`."""
    temperature: Annotated[float, Field(gt=0, le=10)] = 0.6
    """Sampling temperature of these answers."""
    num_evaluated: Annotated[int, Field(ge=1, le=1_000_000)] = 32
    """Held-out problems answered before and after, over all held-out sets together."""
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0
    """Seed of the choice and the order of responses."""

    @property
    def recipe(self) -> SupervisedRecipe:
        """Size and learning rate of the training."""
        return SupervisedRecipe(self.steps, self.batch_size, self.learning_rate, max(1, self.steps // 10), self.seed)
