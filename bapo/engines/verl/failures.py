"""Describes an error of another verl process in one sentence. Imports nothing of verl."""

from __future__ import annotations

from collections.abc import Sequence

_OUT_OF_MEMORY = (
    "OutOfMemoryError",
    "out of memory",
    "can't allocate memory",
    "Cannot allocate memory",
    "No available memory for the cache blocks",
)
"""Messages of PyTorch on a GPU and on a CPU, of Ray's memory monitor, of the system, and of vLLM's cache."""
_KILLED = ("SIGKILL", "connection error code 2")
"""Messages of Ray for a process that vanished, as when the system kills one that takes too much memory."""
REMEDY_UPDATE = (
    "lower training.micro_batch_tokens, or set engine.verl.gradient_checkpointing or engine.verl.offload to true"
)
REMEDY_ROLLOUT = (
    "change engine.verl.gpu_memory_utilization, lower rollout.max_response_tokens, or spread the model over more GPUs "
    "with engine.verl.tensor_parallel"
)


def sentence(what: str, message: str, last_lines: Sequence[str], *, remedy: str = REMEDY_UPDATE) -> str:
    """Say that `what` failed for the reason in `message`, or in the last lines of the processes if that says less.

    Where memory ran out, `remedy` says what helps.
    """
    lines = message.strip().splitlines()
    reason = lines[-1].strip() if lines else "a process ended"
    told = [line for line in (*lines, *last_lines) if any(sign in line for sign in _OUT_OF_MEMORY)]
    if told:
        return f"{what}: out of memory ({told[-1].strip()}): {remedy}"
    if any(sign in line for line in lines for sign in _KILLED):
        return f"{what}: a process was killed, as it is where main memory runs out: {remedy}"
    return f"{what}: {reason}"
