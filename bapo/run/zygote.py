"""Forks trainers that find all that they need already imported: `python -m bapo.run.zygote`.

Nearly all of a trainer's first seconds are imports. Workers and `bapo study` start this process
(`bapo.run.zygote_client`). A request is a line of JSON on standard input (`ForkRequest`); answers are lines on
standard output: the process that was forked, and later how it ended (`Forked`). A trainer leads a separate session and
outlives this process, which ends with its standard input, or after a while without trainers.

Only for trainers without a GPU: what CUDA has set up does not survive a fork.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from pydantic import BaseModel, ConfigDict
from setproctitle import setproctitle

from bapo.config.method import METHODS
from bapo.run import engine, trainer

IDLE_SECONDS = 600
"""Time without trainers after which this process ends."""
TITLE_ROOM = "TITLE_ROOM"
"""A variable that means nothing: the titles of trainers, longer than that of this process, are written over it."""


class ForkRequest(BaseModel):
    """A trainer to be forked."""

    model_config = ConfigDict(frozen=True)

    title: str
    """Command line shown in lists of processes."""
    arguments: tuple[str, ...]
    """Arguments of `bapo.run.trainer`."""
    threads: int
    """CPU threads of the processes that it starts in turn; its own engine sets its own."""
    log: Path
    """File of its standard output and error."""


class Forked(BaseModel):
    """A trainer that runs, or has ended."""

    model_config = ConfigDict(frozen=True)

    pid: int
    created: float = 0.0
    """Start time, in seconds since 1970; reported once."""
    code: int | None = None
    """Exit code, negative for a signal; `None` while it runs."""


def main() -> int:
    """Fork trainers until standard input ends. Returns an exit code, also of each trainer, in its own process."""
    engine.local_engine()
    METHODS.import_shipped()
    signal.signal(signal.SIGCHLD, _tell_endings)
    signal.signal(signal.SIGALRM, _end_if_idle)
    signal.alarm(IDLE_SECONDS)
    for line in sys.stdin.buffer:
        request = ForkRequest.model_validate_json(line)
        signal.alarm(IDLE_SECONDS)
        if os.fork() == 0:
            return _train(request)
    return 0


def _train(request: ForkRequest) -> int:
    signal.alarm(0)
    for number in (signal.SIGCHLD, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    setproctitle(request.title)
    # Reported once it can be signalled as a separate group.
    _tell(Forked(pid=os.getpid(), created=psutil.Process().create_time()))
    for descriptor, path, flags in ((0, os.devnull, os.O_RDONLY), (1, request.log, os.O_WRONLY | os.O_APPEND)):
        opened = os.open(path, flags | os.O_CREAT, 0o644)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.dup2(1, 2)
    os.environ.pop(TITLE_ROOM, None)
    os.environ["OMP_NUM_THREADS"] = str(request.threads)
    return trainer.main(list(request.arguments))


def _tell(forked: Forked) -> None:
    with suppress(BrokenPipeError):  # The reader is gone: standard input ends too.
        os.write(1, forked.model_dump_json().encode() + b"\n")


def _tell_endings(*_: Any) -> None:
    while _has_children():
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        _tell(Forked(pid=pid, code=os.waitstatus_to_exitcode(status)))


def _end_if_idle(*_: Any) -> None:
    if not _has_children():
        sys.exit(0)
    signal.alarm(IDLE_SECONDS)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
