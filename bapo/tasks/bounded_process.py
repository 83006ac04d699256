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
"""Of one call: computing time, so that a busy machine refuses nothing that a quiet one accepts."""
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
    """The kernel ends the process when the next call computes for too long, also where nobody is left to see it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used.ru_utime + used.ru_stime) + CPU_SECONDS, most))


def main(place: str) -> None:
    """Load the function, say so, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, _, name = place.partition(":")
    # What a library prints shall not get between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    function = getattr(importlib.import_module(module), name)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # A file that the kernel writes when it ends the process helps nobody.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers.write("ready\n")
    answers.flush()
    _serve(function, sys.stdin, answers)


if __name__ == "__main__":
    main(sys.argv[1])
