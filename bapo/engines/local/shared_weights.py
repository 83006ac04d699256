"""Weights of α in memory that trainer and generating process share."""

from __future__ import annotations

import mmap
import os
import tempfile
from itertools import accumulate

import torch
from transformers import PreTrainedModel

_ALIGNMENT = 64
"""Bytes, as PyTorch aligns its own memory: how a product is rounded depends on where its factors lie."""


def shared_memory(model: PreTrainedModel) -> int:
    """Return the descriptor of memory for the model's weights, which is freed once no process has it."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("rollout-policy")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, _offsets(model)[-1])
    return descriptor


def share_weights(model: PreTrainedModel, descriptor: int, *, keep: bool) -> None:
    """Move the weights of a model on the CPU into shared memory; `keep`: with their values, else they take those that
    another process has put there.
    """
    *offsets, size = _offsets(model)
    memory = torch.frombuffer(mmap.mmap(descriptor, size), dtype=torch.uint8)
    for parameter, offset in zip(model.parameters(), offsets, strict=True):
        view = memory[offset : offset + parameter.nbytes].view(parameter.dtype).view(parameter.shape)
        if keep:
            view.copy_(parameter.data)
        parameter.data = view


def _offsets(model: PreTrainedModel) -> list[int]:
    """Return where each weight begins, and the end of all, in bytes."""
    return list(accumulate((-(-each.nbytes // _ALIGNMENT) * _ALIGNMENT for each in model.parameters()), initial=0))
