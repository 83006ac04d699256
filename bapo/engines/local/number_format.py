"""Forward passes in bfloat16 on weights in float32."""

from __future__ import annotations

from functools import wraps
from types import MethodType
from typing import Any

import torch
from transformers import PreTrainedModel

from bapo.config import RunConfig


def compute_as_configured(model: PreTrainedModel, config: RunConfig) -> None:
    """Have the model, and every later copy of it, compute its passes in `engine.dtype`; its outputs are float32.

    Weights and gradients stay float32: small learning rates vanish in weights of bfloat16.
    """
    if config.engine.dtype == "float32":
        return
    plain = type(model).forward

    @wraps(plain)
    def forward(self: PreTrainedModel, *arguments: Any, **options: Any) -> Any:
        # One context for each pass: within one, PyTorch keeps what it has cast, also when the weights have changed.
        with torch.autocast(self.device.type, torch.bfloat16):
            output: Any = plain(self, *arguments, **options)
        output.logits = output.logits.float()
        return output

    # As a bound method: a copy of the model is bound to itself.
    model.forward = MethodType(forward, model)
