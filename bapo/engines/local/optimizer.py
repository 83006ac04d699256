"""Adam on one model, with its gradients' norm bounded and its state as named tensors."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from bapo.engines.finite_values import require_finite


class Optimizer:
    """AdamW on the trainable parameters of a model."""

    def __init__(
        self,
        model: nn.Module,
        *,
        learning_rate: float,
        weight_decay: float,
        max_grad_norm: float,
        whose: str = "the policy",
    ) -> None:
        self._whose = whose
        self._parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}
        self._max_grad_norm = max_grad_norm
        self._adam = torch.optim.AdamW(
            self._parameters.values(), lr=learning_rate, weight_decay=weight_decay, fused=True
        )

    def zero_gradients(self) -> None:
        """Set gradients to zero instead of None: without a contribution, Adam then moves by its momentum."""
        self._adam.zero_grad(set_to_none=False)
        for parameter in self._parameters.values():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)

    def step(self) -> float:
        """Move the parameters; the gradient's norm before it was scaled down.

        Raises NotFiniteError, before anything moves, where the norm is NaN or infinite.
        """
        norm = torch.nn.utils.clip_grad_norm_(self._parameters.values(), self._max_grad_norm).item()
        require_finite(f"the norm of the gradient of {self._whose}", norm)
        self._adam.step()
        return norm

    def state(self) -> dict[str, Tensor]:
        """Return the state as tensors, named by parameter; empty before the first step."""
        return {
            f"{name}:{key}": value
            for name, parameter in self._parameters.items()
            for key, value in self._adam.state[parameter].items()
        }

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `state` gave."""
        states: dict[int, dict[str, Tensor]] = {}
        for index, name in enumerate(self._parameters):
            prefix = f"{name}:"
            found = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
            if found:
                states[index] = found
        self._adam.load_state_dict({**self._adam.state_dict(), "state": states})
