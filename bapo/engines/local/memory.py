"""Memory of forward passes: what a pass keeps for its gradient, and how many tokens that allows at once; and memory of
two processes."""

from __future__ import annotations

import gc
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from transformers import PreTrainedModel

_KEPT_BYTES = 2 * 2**30
"""Most memory for what is kept for the gradient on a CPU. A GPU gives half of its memory."""
_SHARE_OF_OUTPUTS = 1 / 16
"""Outputs of one forward pass as a share of that: log-probabilities and their gradient take several times as much."""
_MEASURED_TOKENS = 16
_PROCESS_BYTES = 300 * 2**20
"""A process's own memory with PyTorch loaded and a small batch generated."""
_COPIES = 6
"""Weights, gradient, two moments and α; the generating process loads them once more before it finds α."""
_BYTES_PER_TOKEN: WeakKeyDictionary[PreTrainedModel, int] = WeakKeyDictionary()
"""Bytes per token of the models measured so far."""


def release_unused() -> None:
    """Give back the memory of models that nothing refers to any more, on the CPU and to other processes on the GPU."""
    gc.collect()
    torch.cuda.empty_cache()


def least_bytes_of_two_processes(model: PreTrainedModel) -> int:
    """Return the main memory that trainer and generating process take at least, whatever the responses' lengths."""
    copies = _COPIES if model.device.type == "cpu" else 2
    return 2 * _PROCESS_BYTES + copies * sum(parameter.nbytes for parameter in model.parameters())


def tokens_per_gradient(model: PreTrainedModel) -> int:
    """Return how many tokens fit into memory with all that their gradient needs; measured at a model's first call."""
    if model not in _BYTES_PER_TOKEN:
        _BYTES_PER_TOKEN[model] = _measured_bytes_per_token(model)
    return max(1, _kept_bytes(model) // _BYTES_PER_TOKEN[model])


def tokens_per_output(model: PreTrainedModel) -> int:
    """Return how many tokens' outputs there may be at once."""
    return max(1, int(_SHARE_OF_OUTPUTS * _kept_bytes(model)) // (4 * _num_outputs(model)))


def _kept_bytes(model: PreTrainedModel) -> int:
    if model.device.type == "cuda":
        return torch.cuda.get_device_properties(model.device).total_memory // 2
    return _KEPT_BYTES


def _measured_bytes_per_token(model: PreTrainedModel) -> int:
    weights = {parameter.data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        # Several operations may keep the same values, and none of them copies the weights.
        if tensor.data_ptr() not in weights:
            kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    tokens = torch.zeros(1, _MEASURED_TOKENS, dtype=torch.long, device=model.device)
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        # The output has to live until the end: what is freed leaves its address to others.
        output = model(input_ids=tokens, use_cache=False)
    del output
    return sum(kept.values()) // _MEASURED_TOKENS + 4 * _num_outputs(model)


def _num_outputs(model: PreTrainedModel) -> int:
    """Return the size of the model's head."""
    head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    return 1 if head is None else int(head.weight.shape[0])
