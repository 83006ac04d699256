"""NaN and infinities end a run: what is trained on them is lost, and looks like a model that answers nothing right."""

from __future__ import annotations

import math

from bapo.config import ConfigError, ConfigProblem, RunConfig


class NotFiniteError(ArithmeticError):
    """A value of an update is NaN or infinite; nothing has moved by it."""

    def __init__(self, what: str, value: float) -> None:
        self.what, self.value = what, value
        super().__init__(f"{what} is {value}")


def require_finite(what: str, value: float) -> float:
    """Return the value. Raises NotFiniteError where it is NaN or infinite."""
    if not math.isfinite(value):
        raise NotFiniteError(what, value)
    return value


def update_problem(error: NotFiniteError, config: RunConfig, step: int) -> ConfigError:
    """Return the error that ends a run whose update has become NaN or infinite."""
    remedy = (
        f"in step {step}, {error}, and the run ends before its weights are lost. Look at the loss, the gradient's norm "
        "and the largest ratio of the steps before: lower training.learning_rate or training.max_grad_norm, and "
        "continue from a checkpoint"
    )
    return ConfigError([ConfigProblem("training.learning_rate", config.training.learning_rate, remedy)])


def generation_problem(config: RunConfig, step: int | None, purpose: str) -> ConfigError:
    """Return the error that ends a run whose policy gives tokens no probability."""
    where = purpose if step is None else f"{purpose} of step {step}"
    remedy = (
        f"probabilities of the responses are NaN or infinite ({where}), so that they mean nothing. Before the first "
        "update, the model overflows: choose engine.dtype=float32, or another copy of the model; later, look at the "
        "loss and the gradient's norm of the steps before, and lower training.learning_rate"
    )
    return ConfigError([ConfigProblem("model.path", config.model.path, remedy)])
