"""The warm start of a model: its usual size, by which a probe says what one costs."""

from __future__ import annotations

from dataclasses import dataclass

NUM_EVALUATED, NUM_SAMPLES = 32, 4
"""Problems that a warm start is evaluated on before and after, and responses to each."""
NUM_ANSWERED, NUM_ANSWERS = 64, 8
"""Problems that the base answers to make traces, and its responses to each."""


@dataclass(frozen=True, slots=True)
class SupervisedRecipe:
    """Size and learning rate of supervised training."""

    num_steps: int = 30
    batch_size: int = 12
    """Responses per step."""
    learning_rate: float = 5e-5
    """Peak of the learning rate, from which half a cosine leads down."""
    warm_up_steps: int = 3
    """Steps in which it rises linearly."""
    seed: int = 0
