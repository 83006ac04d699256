"""The same bits each time, also on a GPU."""

from __future__ import annotations

import os

import torch
from torch import Tensor


def use_repeatable_algorithms(device: torch.device) -> None:
    """Make PyTorch use them in this process, if it has them; a CPU gives the same bits anyway."""
    if device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
        # Else every new tensor is filled before it is written, which was a third of all kernels.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def backward(loss: Tensor) -> None:
    """Add the gradients of a loss to those of the weights.

    With a warning where another algorithm would do, attention sums its gradients on a GPU in whatever order its blocks
    end: long responses gave other weights each time. So nothing else will do here.
    """
    if not torch.are_deterministic_algorithms_enabled():
        loss.backward()  # type: ignore[no-untyped-call]
        return
    torch.use_deterministic_algorithms(True)
    try:
        loss.backward()  # type: ignore[no-untyped-call]
    finally:
        torch.use_deterministic_algorithms(True, warn_only=True)
