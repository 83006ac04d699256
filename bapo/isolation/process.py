"""The process of an isolated function: answers a line of JSON with a line of JSON until its input ends."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from typing import Any

from pydantic import validate_call
from pydantic_core import to_jsonable_python

from bapo.isolation.limits import Limits

READY = b"ready\n"
MOST_CHARACTERS = 300
"""Maximum length of an exception's message."""


def main(place: str, limits: Limits) -> None:
    """Load the function `module:function`, report it, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Output of libraries must not mix with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    module, _, name = place.partition(":")
    function = validate_call(getattr(importlib.import_module(module), name))
    limits.apply()
    answers.write(READY)
    answers.flush()
    for line in sys.stdin.buffer:
        limits.begin_call()
        arguments, named = json.loads(line)
        answer: dict[str, Any]
        try:
            answer = {"value": function(*arguments, **named)}
        except Exception as error:
            answer = {"error": ": ".join(filter(None, (type(error).__name__, str(error)[:MOST_CHARACTERS])))}
        answers.write(json.dumps(answer, default=to_jsonable_python).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], Limits(*json.loads(sys.argv[2])))
