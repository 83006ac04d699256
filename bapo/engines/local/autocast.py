"""The number format of forward passes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

from bapo.config.engine import EngineConfig


def forward_passes(engine: EngineConfig, device: torch.device) -> AbstractContextManager[object]:
    """Forward passes within it compute in `engine.dtype`, from weights that stay float32.

    One for each set of weights: PyTorch keeps the rounded weights until it ends, also if an update changes them.
    """
    if engine.dtype == "float32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)
