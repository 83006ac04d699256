"""Errors of other processes in one sentence."""

from __future__ import annotations

import pytest

from bapo.engines.verl.failures import REMEDY_ROLLOUT, sentence


def test_the_last_line_of_the_error_is_the_reason() -> None:
    assert sentence("the update failed", "ValueError\n  shapes differ \n", []) == "the update failed: shapes differ"


def test_an_error_without_a_word_has_a_reason_too() -> None:
    assert sentence("generating failed", " \n", []) == "generating failed: a process ended"


@pytest.mark.parametrize(
    "line",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory",
        "ValueError: No available memory for the cache blocks.",
    ],
)
def test_memory_that_ran_out_is_named_with_the_remedy(line: str) -> None:
    assert sentence("generating failed", line, [], remedy="do this") == (
        f"generating failed: out of memory ({line}): do this"
    )


def test_memory_that_ran_out_is_found_in_the_last_lines_where_the_error_says_less() -> None:
    told = sentence("generating failed", "EngineCore encountered an issue.", ["x", "CUDA out of memory."])
    assert told.startswith("generating failed: out of memory (CUDA out of memory.): lower training.micro_batch_tokens")


def test_a_process_that_was_killed() -> None:
    message = "The actor died unexpectedly.\nThe process was killed by SIGKILL by OOM killer due to high memory usage."
    assert sentence("the update failed", message, [], remedy=REMEDY_ROLLOUT) == (
        f"the update failed: a process was killed, as it is where main memory runs out: {REMEDY_ROLLOUT}"
    )
