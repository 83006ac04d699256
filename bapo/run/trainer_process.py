"""A trainer as a separate process, started or forked.

It leads a separate session, so that neither the end of the process that started it nor the terminal's Ctrl-C touches
it. The process is identified by its id and start time.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from bapo.run.processes import process_of
from bapo.run.zygote import ForkRequest
from bapo.run.zygote_client import ForkedTrainer, Zygote, ZygoteError

MODULE = ("-m", "bapo.run.trainer")


class TrainerProcess:
    """A trainer that this process started or found again."""

    def __init__(self, pid: int, created: float, child: subprocess.Popen[bytes] | ForkedTrainer | None = None) -> None:
        self.pid = pid
        self.created = created
        self._child = child

    @classmethod
    def of(cls, process: psutil.Process) -> TrainerProcess:
        """Return the trainer process of a process that was found again."""
        return cls(process.pid, process.create_time())

    def is_running(self) -> bool:
        """Return whether it is running; reaps it if it is a child."""
        if self._child is not None:
            return self._child.poll() is None
        return process_of(self.pid, self.created) is not None

    @property
    def exit_code(self) -> int | None:
        """Exit code; `None` while it runs, and always if this process did not start it."""
        return self._child.poll() if self._child is not None else None

    def ask_to_stop(self) -> None:
        """Send SIGTERM: the trainer ends after its step, with a checkpoint.

        Not to its process group: the processes of its engine have to go on until then.
        """
        if self.is_running():
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to its process group."""
        if self.is_running():
            os.killpg(self.pid, signal.SIGKILL)


def start_trainer(
    *arguments: str, python: str, environment: Mapping[str, str], threads: int, log: Path, zygote: Zygote | None = None
) -> TrainerProcess:
    """Start `bapo.run.trainer` with these arguments, its output at the end of `log`; `zygote` forks it, if given.

    `threads`: CPU threads of the processes that it starts in turn.
    """
    environment = {**environment, "OMP_NUM_THREADS": str(threads)}
    command = [python, *MODULE, *arguments]
    if zygote is not None:
        request = ForkRequest(title=" ".join(command), arguments=arguments, threads=threads, log=log.absolute())
        with suppress(ZygoteError):  # A trainer started without the zygote will report the cause in its log.
            forked = zygote.fork(request, environment)
            return TrainerProcess(forked.pid, forked.created, forked)
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return TrainerProcess(child.pid, psutil.Process(child.pid).create_time(), child)
