"""Disks that only root can mount: a small one in memory, to be filled, and a read-only view of a folder."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """An empty file system of this size (`64k`, `400m`) at the folder; skips the test where none can be mounted."""
    place.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("only root can mount a file system")
    try:
        yield place
    finally:
        # With whatever a test that failed has mounted above it: who removes the folder must find nothing.
        while place.is_mount():
            subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> Path:
    """Write until not a byte is left; the file whose removal makes room again."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"\0" * size)
    return filler


def mount_read_only(folder: Path) -> bool:
    """Put a read-only view of the folder over it; whether mounting is permitted here.

    It is made read-only before it is there: with a file open for writing in it, a mount is busy.
    """
    with tempfile.TemporaryDirectory() as aside:
        bound = subprocess.run(["mount", "--bind", str(folder), aside], capture_output=True, check=False)
        if bound.returncode:
            return False
        try:
            subprocess.run(["mount", "-o", "remount,bind,ro", aside], check=True)
            # The view of a read-only view is read-only.
            subprocess.run(["mount", "--bind", aside, str(folder)], check=True)
        finally:
            subprocess.run(["umount", aside], check=True)
    return True
