"""Checks a file in a process of its own, bounded in time and memory: what people upload may be made to hurt."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

from bapo.own_data.job import CheckJob, CheckResult

CHECK_SECONDS = 1_200.0
POLL_SECONDS = 0.5


def check_apart(
    job: CheckJob, *, is_cancelled: Callable[[], bool], seconds: float = CHECK_SECONDS
) -> CheckResult | None:
    """What was found; a check that takes too long, or too much memory, is a problem of the file.

    None where it was cancelled, which is asked at the start and then twice a second.
    """
    command = [sys.executable, "-m", "bapo.own_data"]
    # With one thread per library: threads reserve address space, which is bounded.
    environment = os.environ | {"PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    given: bytes | None = job.model_dump_json().encode()
    deadline = time.monotonic() + seconds
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or is_cancelled():
                process.kill()
                process.communicate()
                remedy = f"the check took longer than {seconds / 60:.0f} minutes: split the file"
                return CheckResult(problem=remedy) if left <= 0 else None
            try:
                answer, told = process.communicate(given, timeout=min(POLL_SECONDS, left))
                break
            except subprocess.TimeoutExpired:
                # It is sent once, however often it is waited for.
                given = None
    if process.returncode != 0:
        last = (told.decode("utf-8", "replace").strip().splitlines() or ["it was killed"])[-1]
        return CheckResult(problem=f"the check ended before its time ({last[:300]}): split the file, or mend it")
    return CheckResult.model_validate_json(answer)
