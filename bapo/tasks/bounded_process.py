"""The process of a bounded function: answers a line of JSON with a line of JSON until its input ends."""

from __future__ import annotations

import importlib
import json
import math
import resource
import signal
import sys
from collections.abc import Callable
from typing import IO, Any

CPU_SECONDS = 3
"""Limit of one call, in CPU time, so that the outcome does not depend on the load of the machine."""
MEMORY_BYTES = 2 * 2**30
"""Address space of the process."""


def _serve(function: Callable[..., Any], lines: IO[str], answers: IO[str]) -> None:
    for line in lines:
        _limit_cpu()
        try:
            answer = {"value": function(*json.loads(line))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _limit_cpu() -> None:
    """Let the kernel end the process when the next call computes for too long, even if the trainer is gone."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used.ru_utime + used.ru_stime) + CPU_SECONDS, most))


def main(place: str) -> None:
    """Load the function, report it, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, _, name = place.partition(":")
    # Output of libraries must not mix with the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    function = getattr(importlib.import_module(module), name)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # No core file when the kernel ends the process.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers.write("ready\n")
    answers.flush()
    _serve(function, sys.stdin, answers)


if __name__ == "__main__":
    main(sys.argv[1])
