"""Cleans up after verl, vLLM and Ray: processes that are still ending, and files in shared memory. Torch-free."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  (where Linux keeps it)
PREFIXES = ("psm_", "sem.mp-", "verl_weights_")
"""Names that Python's and verl's shared memory have."""


TRAINER_VARIABLE = "BAPO_TRAINER_PID"
"""In the environment of every process of verl: the id of the trainer that it works for."""


def temporary_prefix(trainer_pid: int) -> str:
    """Return the prefix of a trainer's temporary folders."""
    return f"bapo-ray-{trainer_pid}-"


def clean_up_after(trainer_pid: int, created: float) -> None:
    """End what a trainer that is gone has left running, which frees its GPUs, and remove its files.

    `created`: when it started, Unix time in seconds.
    """
    end_processes(_processes_of(trainer_pid), patience_seconds=0)
    remove_shared_memory(created)
    for folder in Path(tempfile.gettempdir()).glob(f"{temporary_prefix(trainer_pid)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _processes_of(trainer_pid: int) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if process.environ().get(TRAINER_VARIABLE) == str(trainer_pid):
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue


def end_processes(processes: Iterable[psutil.Process], *, patience_seconds: float = 10) -> None:
    """Wait for processes that were asked to end, then kill those that did not."""
    _, alive = psutil.wait_procs(list(processes), timeout=patience_seconds)
    for process in alive:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(alive, timeout=10)


def remove_shared_memory(since: float, folder: Path = SHARED_MEMORY) -> list[str]:
    """Remove this user's files made since then (Unix time, s) that no process has mapped any more; their names.

    Each run of verl leaves some, of up to hundreds of megabytes.
    """
    found = [path for path in _files(folder) if _is_ours(path, since)]
    mapped = _mapped_files(folder) if found else set()
    removed = []
    for path in found:
        if str(path) not in mapped:
            path.unlink(missing_ok=True)
            removed.append(path.name)
    return removed


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob("*") if path.name.startswith(PREFIXES))


def _is_ours(path: Path, since: float) -> bool:
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    return status.st_uid == os.getuid() and status.st_ctime >= since


def _mapped_files(folder: Path) -> set[str]:
    """Return files of the folder that a process has mapped."""
    mapped = set()
    for process in psutil.process_iter():
        try:
            mapped |= {region.path for region in process.memory_maps() if region.path.startswith(f"{folder}/")}
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return mapped
