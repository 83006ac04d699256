"""State of the machine for the heartbeat, and its memory and GPUs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bapo.api.workers import GpuInfo
from bapo.run.nvidia_smi import number, query
from bapo.run.run_folder import mark_of

GIB = 2**30
MIB_PER_GIB = 1024
VISIBLE_VARIABLE = "CUDA_VISIBLE_DEVICES"
MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
MIN_UUID_CHARACTERS = len("GPU-")
"""Length of identifier prefixes that are too short to identify a GPU."""


def utilisation() -> dict[str, float]:
    """Return CPU in percent since the last call, memory in bytes, and the clock in seconds."""
    memory = psutil.virtual_memory()
    return {
        "clock_seconds": time.time(),
        "cpu_percent": psutil.cpu_percent(interval=None),
        "memory_used_bytes": float(memory.total - memory.available),
        "memory_total_bytes": float(memory.total),
    }


def folder_of_runs(folder: Path) -> dict[str, float]:
    """Describe the folder of the runs on this machine: whether it is writable, its free space, and its identity."""
    found = {"runs_dir_writable": float(os.access(folder, os.W_OK | os.X_OK))}
    try:
        found["runs_dir_free_bytes"] = float(shutil.disk_usage(folder).free)
    except OSError:
        return found
    mark = mark_of(folder)
    # No number is not the server's number either.
    return found | {"runs_dir_mark": float(-1 if mark is None else mark)}


def memory_gib() -> float:
    """Return the main memory, or the container's limit, in GiB."""
    total = psutil.virtual_memory().total
    try:
        limit = MEMORY_LIMIT.read_text().strip()
    except OSError:
        limit = "max"
    return min(total, int(limit) if limit.isdigit() else total) / GIB


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU as its driver names it."""

    index: int
    uuid: str
    name: str
    memory_gib: float | None


def devices() -> Sequence[Device]:
    """Return the NVIDIA GPUs; empty without a driver. The memory of a GPU that shares the machine's is `None`."""
    return tuple(
        Device(int(index), uuid, name, None if (mib := number(memory)) is None else mib / MIB_PER_GIB)
        for index, uuid, name, memory in query("index", "uuid", "name", "memory.total")
    )


def usable_gpus(found: Sequence[Device], chosen: Sequence[int] | None, visible: str | None) -> list[GpuInfo]:
    """Return the GPUs to use.

    `chosen` names them (`bapo worker --gpus`), also where no driver answers: then nothing is known but the index.
    Without, they are those of `visible` (CUDA_VISIBLE_DEVICES, indices or identifiers), or all that were `found`.

    Raises:
        ValueError: the driver knows no GPU of a chosen index.
    """
    if chosen is None:
        names = None if visible is None else [name.strip() for name in visible.split(",") if name.strip()]
        kept = [
            device
            for device in found
            if names is None
            or str(device.index) in names
            or any(len(name) > MIN_UUID_CHARACTERS and device.uuid.startswith(name) for name in names)
        ]
        return [GpuInfo(index=each.index, name=each.name, memory_gib=each.memory_gib) for each in kept]
    by_index = {device.index: device for device in found}
    missing = [index for index in chosen if found and index not in by_index]
    if missing:
        there = ", ".join(str(index) for index in by_index)
        raise ValueError(f"this machine has no GPU {missing[0]}: choose among {there}")
    return [
        GpuInfo(index=index, name=by_index[index].name, memory_gib=by_index[index].memory_gib)
        if index in by_index
        else GpuInfo(index=index)
        for index in dict.fromkeys(chosen)
    ]


def gpus(chosen: Sequence[int] | None) -> list[GpuInfo]:
    """Return `usable_gpus` of this machine. Raises ValueError."""
    return usable_gpus(devices(), chosen, os.environ.get(VISIBLE_VARIABLE))
