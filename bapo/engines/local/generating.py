"""The generating process: `python -m bapo.engines.local.generating SOCKET WEIGHTS SETUP`.

SOCKET and WEIGHTS are descriptors, SETUP is a `Setup`. Calls come and answers go over the socket. α's weights are
read where the trainer writes them. The process ends with the trainer, whose end of the socket closes however it dies.
"""

from __future__ import annotations

import copy
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection
from queue import SimpleQueue

import torch

from bapo.engines.local.decoding import Prefix
from bapo.engines.local.generating_process import CALLS, Answer, Call, Setup
from bapo.engines.local.policy import load_language_model
from bapo.engines.local.repeatable import use_repeatable_algorithms
from bapo.engines.local.sampler import Sampler
from bapo.engines.local.shared_weights import share_weights


def main(socket: int, weights: int, setup: Setup) -> None:
    """Answer calls until the trainer is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(socket)
    messages: SimpleQueue[Sequence[Call]] = SimpleQueue()
    threading.Thread(target=_read, args=(connection, messages), daemon=True).start()
    policy = _RolloutPolicy(setup, weights)
    calls: deque[Call] = deque()
    while True:
        if not calls or not messages.empty():
            # Calls take the place of those before.
            calls = deque(messages.get())
            policy.take_weights()
            if not calls:
                connection.send_bytes(b"")
            continue
        connection.send_bytes(policy.answer(calls.popleft()).to_bytes())


class _RolloutPolicy:
    """α in this process."""

    def __init__(self, setup: Setup, weights: int) -> None:
        device = torch.device(setup.device)
        torch.set_num_threads(setup.engine.threads)
        use_repeatable_algorithms(device)
        loaded = load_language_model(setup.model_path, torch.device("cpu"))
        self._shared = loaded.model
        share_weights(self._shared, weights, keep=False)
        self._model = self._shared if device.type == "cpu" else copy.deepcopy(self._shared)
        self._model.train(False).to(device)
        self._sampler = Sampler(setup.engine, setup.rollout, device, loaded.eos_token_ids)

    def take_weights(self) -> None:
        """Copy α to the GPU, if there is one."""
        if self._model is not self._shared:
            self._model.load_state_dict(self._shared.state_dict())

    def answer(self, call: Call) -> Answer:
        begin = time.perf_counter()
        uniforms = self._sampler.uniforms(call.seed, len(call.prompts) * call.group_size)
        prefixes = [Prefix(prompt, call.group_size) for prompt in call.prompts]
        groups = self._sampler.sample(self._model, prefixes, uniforms)
        return Answer(call.step, groups, begin, time.perf_counter() - begin)


def _read(connection: Connection, messages: SimpleQueue[Sequence[Call]]) -> None:
    """Pass on what the trainer sends, and end this process with it, also in the middle of a call."""
    try:
        while True:
            messages.put(CALLS.validate_json(connection.recv_bytes()))
    except (EOFError, OSError):
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Setup.model_validate_json(sys.argv[3]))
