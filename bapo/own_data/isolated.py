"""Checks a file in a separate process, bounded in time and memory: uploads may be malicious."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from bapo.own_data.job import CheckJob, CheckResult

CHECK_SECONDS = 1_200.0
POLL_SECONDS = 0.5


class ApartError(Exception):
    """The process took too long, or more memory or room than it may; the text says so, and what to do."""


def check_apart(
    job: CheckJob, *, is_cancelled: Callable[[], bool], seconds: float = CHECK_SECONDS
) -> CheckResult | None:
    """Return what was found; a check that takes too long, or too much memory, is a problem of the file.

    None where it was cancelled, which is asked at the start and then twice a second.
    """
    try:
        command = [sys.executable, "-m", "bapo.own_data"]
        found = run_apart(command, job.model_dump_json().encode(), is_cancelled=is_cancelled, seconds=seconds)
    except ApartError as error:
        return CheckResult(problem=str(error))
    return None if found is None else CheckResult.model_validate_json(found)


def run_apart(
    command: Sequence[str], given: bytes, *, is_cancelled: Callable[[], bool], seconds: float = CHECK_SECONDS
) -> bytes | None:
    """Return what a command writes when it is given this; None where it was cancelled. Raises ApartError."""
    # With one thread per library: threads reserve address space, which is bounded.
    environment = os.environ | {"PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    unsent: bytes | None = given
    deadline = time.monotonic() + seconds
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ApartError(f"the check took longer than {seconds:.0f} s: split the file")
                if is_cancelled():
                    return None
                try:
                    answer, said = process.communicate(unsent, timeout=min(POLL_SECONDS, left))
                    break
                except subprocess.TimeoutExpired:
                    # It is sent once, however often it is waited for.
                    unsent = None
        finally:
            # It has ended by itself, or is not waited for, whatever is raised here.
            process.kill()
    if process.returncode != 0:
        last = (said.decode("utf-8", "replace").strip().splitlines() or ["it was killed"])[-1]
        raise ApartError(
            f"the check ended before its time ({last[:300]}), as it does where a file takes too much memory: "
            "split it, or correct it"
        )
    return answer
