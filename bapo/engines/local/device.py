"""The device that the local engine computes on."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from bapo.config import ConfigError, ConfigProblem, RunConfig

_DRIVER = Path("/dev/nvidiactl")
"""There where NVIDIA's driver is loaded, whether or not this PyTorch can use it."""


def device_of(config: RunConfig) -> torch.device:
    """Return where to compute. Raises ConfigError where a GPU is asked for, or lies idle, and PyTorch cannot use it."""
    wanted = config.engine.device
    if wanted == "cpu" or torch.cuda.is_available():
        return torch.device("cpu" if wanted == "cpu" else "cuda")
    is_given = _DRIVER.exists() and os.environ.get("CUDA_VISIBLE_DEVICES") != ""
    if wanted == "cuda" or (torch.version.cuda is not None and is_given):
        remedy = (
            f"PyTorch {torch.__version__} finds no CUDA GPU here ({_why_no_gpu()}): update the driver, or install a "
            "build of PyTorch for the CUDA version that nvidia-smi names, or choose cpu"
        )
        raise ConfigError([ConfigProblem("engine.device", wanted, remedy)])
    return torch.device("cpu")


def _why_no_gpu() -> str:
    """Return the reason as PyTorch has it, such as a driver that is too old."""
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (AssertionError, RuntimeError) as error:
        return str(error).partition(". ")[0].strip()
    return "none is visible"
