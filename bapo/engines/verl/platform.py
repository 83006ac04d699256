"""The CPU as one of verl's platforms: everything that it asks of an accelerator, answered for none."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry


class _DeviceModule(types.ModuleType):
    """`torch.cpu`, with the calls that only an accelerator knows."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)


def _nothing(*_: object, **__: object) -> None:
    pass


def _zero(*_: object, **__: object) -> int:
    return 0


def _device_module() -> _DeviceModule:
    module = _DeviceModule("bapo_verl_cpu")
    for name in ("empty_cache", "ipc_collect", "reset_peak_memory_stats", "set_device", "synchronize"):
        setattr(module, name, _nothing)
    for name in ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"):
        setattr(module, name, _zero)
    answers = {
        "mem_get_info": (0, 0),
        "is_available": True,
        "get_device_name": "cpu",
        "current_device": "cpu",
        "device_count": 1,
    }
    for name, answer in answers.items():
        setattr(module, name, lambda *_, answer=answer, **__: answer)
    module.manual_seed = module.manual_seed_all = torch.manual_seed  # type: ignore[attr-defined]
    module.get_rng_state = lambda *_, **__: torch.get_rng_state()  # type: ignore[attr-defined]
    module.set_rng_state = lambda state, *_, **__: torch.set_rng_state(state)  # type: ignore[attr-defined]
    return module


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):  # type: ignore[misc]
    """No accelerator: gloo between processes, weights to vLLM through shared memory."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _device_module()

    def is_available(self) -> bool:
        """Return True: there is always a CPU."""
        return True

    def current_device(self) -> str:
        """Return the device that tensors are moved to; a number would mean a CUDA device."""
        return "cpu"

    def device_count(self) -> int:
        """Return 1: each process has its own."""
        return 1

    def set_device(self, device_index: int) -> None:
        """Do nothing: there is only one device."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Do nothing: nothing runs asynchronously."""

    def manual_seed(self, seed: int) -> None:
        """Set the seed of PyTorch's generator."""
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Set the seed of PyTorch's generator."""
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """Do nothing: the allocator has no settings."""

    def empty_cache(self) -> None:
        """Do nothing: there is no cache."""

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        """Return no capability: a CPU has none."""
        return None, None

    def communication_backend_name(self) -> str:
        """Return the backend of torch.distributed."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Return the variable that Ray sets for the logical GPUs that it is given."""
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """Do nothing: there is no profiler."""
        yield

    def profiler_start(self) -> None:
        """Do nothing: there is no profiler."""

    def profiler_stop(self) -> None:
        """Do nothing: there is no profiler."""

    def ray_resource_name(self) -> str:
        """Return "GPU", the resource on which verl places its processes; without GPUs, Ray is given one per process."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """Return the variables that make Ray leave the visible devices as they are."""
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        """Return False: without CUDA IPC, verl hands weights over in shared memory."""
        return False

    def rollout_env_vars(self) -> dict[str, str]:
        """Return no variables."""
        return {}

    def cudart(self) -> None:
        """Return None: there is no CUDA runtime."""
