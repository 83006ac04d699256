"""A small disk of its own, to be filled: a file system in memory, which only root can mount."""

from __future__ import annotations

import subprocess
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
