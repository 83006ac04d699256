"""Reads a file in a separate process, with limits: uploads may be malicious."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from bapo.isolation.function import CallFailedError, IsolatedFunction
from bapo.isolation.limits import Limits
from bapo.own_data.storable import storable

MEMORY_BYTES = 8 * 2**30
"""Address space, in bytes: a small Parquet file can unpack to anything."""
CPU_SECONDS = 1_300
CHECK_SECONDS = 1_200.0

Job = TypeVar("Job")
Result = TypeVar("Result")


class FileReadError(Exception):
    """A file cannot be read within the limits; the message says why, and what to do."""


def read_isolated(
    function: Callable[[Job], Result],
    job: Job,
    *,
    file_bytes: int | None,
    maps_files: bool = False,
    seconds: float = CHECK_SECONDS,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """Return the result of a function that reads a file. Raises FileReadError and CallCancelledError."""
    limits = Limits(MEMORY_BYTES, CPU_SECONDS, file_bytes, maps_files)
    try:
        with IsolatedFunction(function, limits, seconds=seconds, is_cancelled=is_cancelled) as isolated:
            return isolated(job)
    except CallFailedError as error:
        raise FileReadError(storable(f"the file cannot be checked: {error}: split it, or correct it")) from None
