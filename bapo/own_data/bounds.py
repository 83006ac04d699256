"""Bounds of a process that reads what people bring: memory, processor time, and what it may write."""

from __future__ import annotations

import resource

MEMORY_BYTES = 8 * 2**30
"""Address space, in bytes: a small Parquet file can unpack to anything."""
CPU_SECONDS = 1_300


def bound_process(most_bytes: int | None = None, *, maps_files: bool = False) -> None:
    """Give this process no more than `MEMORY_BYTES`, `CPU_SECONDS`, and `most_bytes` of each file that it writes.

    `maps_files`: files that it maps do not count, such as weights of any size.
    """
    _bound(resource.RLIMIT_DATA if maps_files else resource.RLIMIT_AS, MEMORY_BYTES)
    # Where the server ends, this process ends by itself.
    _bound(resource.RLIMIT_CPU, CPU_SECONDS)
    _bound(resource.RLIMIT_CORE, 0)
    if most_bytes is not None:
        _bound(resource.RLIMIT_FSIZE, most_bytes)


def _bound(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (limit, hard))
