"""The trainer's side of the generating process: what it is asked, what it answers, and its restarts.

It answers each step's prompts in a call of their own, of the same shape as the trainer would, so that the answers are
the same to the last bit. A process that dies or hangs is replaced: the next one draws by the same keys.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import NamedTuple, Self

import psutil
import torch
from pydantic import BaseModel, TypeAdapter
from safetensors.torch import load, save

from bapo.config.engine import EngineConfig
from bapo.config.sections import RolloutConfig
from bapo.engines.local.sampling import SampledGroup

MODULE = "bapo.engines.local.generating"
HANG_SECONDS = 60.0
"""A process that neither answers nor computes for as long hangs."""
MOST_RESTARTS = 3
"""Restarts in a row, without an answer between them."""
END_SECONDS = 1.0
"""Time in which a process ends that has closed its end of the socket."""
_POLL_SECONDS = 0.2


class GeneratingProcessError(RuntimeError):
    """The generating process failed again and again."""


class Setup(BaseModel):
    """The settings of a generating process, and its model."""

    model_path: str
    """The base model; the weights are those in the shared memory."""
    device: str
    engine: EngineConfig
    rollout: RolloutConfig


class Call(BaseModel):
    """The fresh prompts of one step."""

    step: int
    seed: int
    prompts: Sequence[Sequence[int]]
    """Token ids."""
    group_size: int


CALLS = TypeAdapter(list[Call])
"""A message to the process; one without calls is answered by an empty message, once nothing reads α."""


class Answer(NamedTuple):
    """A step's responses."""

    step: int
    groups: Sequence[SampledGroup]
    """In the order of the prompts."""
    begin: float
    """When the process began with them, by the clock of `time.perf_counter`, which all processes share."""
    seconds: float

    def to_bytes(self) -> bytes:
        """Return the answer as one message."""
        return save(
            {
                "step": torch.tensor(self.step),
                "times": torch.tensor([self.begin, self.seconds], dtype=torch.float64),
                "lengths": torch.tensor([group.lengths for group in self.groups]),
                "ended": torch.tensor([group.ended for group in self.groups]),
                "token_ids": torch.cat([group.token_ids for group in self.groups]),
                "logprobs": torch.cat([group.logprobs for group in self.groups]),
            }
        )

    @classmethod
    def of_bytes(cls, message: bytes) -> Self:
        """Return what `to_bytes` made a message of."""
        tensors = load(message)
        lengths = tensors["lengths"]
        sizes = lengths.sum(dim=1).tolist()
        token_ids, logprobs = (torch.split(tensors[name], sizes) for name in ("token_ids", "logprobs"))
        groups = [
            # Cloned, so that a group in a buffer does not keep all others in memory.
            SampledGroup(token_ids[i].clone(), logprobs[i].clone(), tuple(lengths[i].tolist()), tuple(ended))
            for i, ended in enumerate(tensors["ended"].tolist())
        ]
        return cls(int(tensors["step"]), groups, *tensors["times"].tolist())


class GeneratingProcess:
    """A process with α that answers the calls it was last given, one after another, while the trainer does other
    things.
    """

    def __init__(self, setup: Setup, weights: int) -> None:
        """Start it; `weights` is the descriptor of the memory that α lies in."""
        self._setup = setup
        self._weights = weights
        self._calls: dict[int, Call] = {}
        """Those not answered yet, by step."""
        self._answers: dict[int, Answer] = {}
        self._num_failures = 0
        """In a row."""
        self.num_restarts = 0
        self._start()

    def ask(self, calls: Sequence[Call]) -> None:
        """Send these calls, to be answered in their order; those before are abandoned."""
        self.abandon()
        self._answers = {}
        self._calls = {call.step: call for call in calls}
        self._send()

    def take(self, step: int) -> Answer:
        """Wait for the answer to a step's call, and return it.

        Raises GeneratingProcessError where the process fails again and again.
        """
        while step not in self._answers:
            answer = self._receive()
            assert answer is not None, "only calls that are abandoned have none"
            del self._calls[answer.step]
            self._answers[answer.step] = answer
        return self._answers.pop(step)

    def abandon(self) -> None:
        """Wait until nothing reads α any more; calls that are not answered yet never are."""
        if self._calls:
            self._calls = {}
            self._send()
            while self._receive() is not None:
                pass

    @property
    def num_steps_ready(self) -> int:
        """Steps whose answers wait."""
        return len(self._answers) + self._messages.qsize()

    def memory_bytes(self) -> int:
        """Return its resident memory without what it shares, such as α; 0 while it is being replaced."""
        with suppress(psutil.Error):
            memory = self._watched.memory_info()
            return int(memory.rss - getattr(memory, "shared", 0))
        return 0

    def cpu_percent(self) -> float:
        """Return its CPU load since the last call."""
        with suppress(psutil.Error):
            return float(self._watched.cpu_percent())
        return 0.0

    def close(self) -> None:
        """End it: it has nothing to save."""
        self._finalizer()

    # ------------------------------------------------------------ the process

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        # A process that is stopped reads nothing, and the trainer would wait for it in vain.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(HANG_SECONDS), 0))
        with theirs:
            descriptors = theirs.fileno(), self._weights
            process = subprocess.Popen(
                [sys.executable, "-m", MODULE, *map(str, descriptors), self._setup.model_dump_json()],
                stdin=subprocess.DEVNULL,
                # Nothing that a library prints belongs to the trainer's output.
                stdout=2,
                pass_fds=descriptors,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    "PYTHONSAFEPATH": "1",
                    "OMP_NUM_THREADS": str(self._setup.engine.threads),
                },
            )
        self._connection = Connection(ours.detach())
        self._messages: SimpleQueue[bytes | None] = SimpleQueue()
        threading.Thread(target=_read, args=(self._connection, self._messages), daemon=True).start()
        self._process = process
        self._watched = psutil.Process(process.pid)
        self._finalizer = weakref.finalize(self, _end, process)

    def _send(self) -> None:
        try:
            self._connection.send_bytes(CALLS.dump_json(list(self._calls.values())))
        except OSError:
            self._restart(self._failure())

    def _receive(self) -> Answer | None:
        """Return the next answer, or None once there is nothing to answer; a process that fails is replaced first."""
        message = self._message()
        if message is None:
            self._restart(self._failure())
            return self._receive()
        self._num_failures = 0
        return Answer.of_bytes(message) if message else None

    def _message(self) -> bytes | None:
        """Return the next message; None where the process has ended or hangs."""
        computed, last_progress = -1.0, time.monotonic()
        while True:
            with suppress(Empty):
                return self._messages.get(timeout=_POLL_SECONDS)
            with suppress(psutil.Error):
                times = self._watched.cpu_times()
                if times.user + times.system > computed:
                    computed, last_progress = times.user + times.system, time.monotonic()
            if time.monotonic() - last_progress > HANG_SECONDS:
                return None

    def _failure(self) -> str:
        try:
            code = self._process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            return f"it neither answered nor computed for {HANG_SECONDS:.0f} s"
        return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with code {code}"

    def _restart(self, failure: str) -> None:
        """Replace the process; the next one answers what is left."""
        self._finalizer()
        self._num_failures += 1
        if self._num_failures > MOST_RESTARTS:
            raise GeneratingProcessError(
                f"the generating process failed {self._num_failures} times in a row, at last because {failure}: its "
                "message is in the log, and memory may have run out. The run can continue from its last checkpoint; a "
                "fork with rollout.ahead=off or rollout.ahead=window needs no second process"
            )
        print(f"the generating process is started again: {failure}", file=sys.stderr)
        self.num_restarts += 1
        self._start()
        self._send()


def _read(connection: Connection, messages: SimpleQueue[bytes | None]) -> None:
    """Take what arrives at once, so that the process need not wait for the trainer; None at the end."""
    with connection, suppress(EOFError, OSError):
        while True:
            messages.put(connection.recv_bytes())
    messages.put(None)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
