"""Faults that tests plant in verl's processes: an importable module, since a loss travels by its name."""

from __future__ import annotations

from typing import Any


def out_of_memory(model_output: Any, data: Any, dp_group: Any = None) -> Any:
    """A loss for whose backward pass there is no room."""
    import torch  # noqa: PLC0415

    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1.00 GiB free.")
