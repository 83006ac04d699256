"""A function in a child process: typed arguments and results, its limits, and what its caller is given."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from bapo.isolation.function import CallCancelledError, CallFailedError, IsolatedFunction
from bapo.isolation.limits import Limits

SECONDS = 60.0


class Question(BaseModel):
    """A model as an argument."""

    path: Path
    numbers: tuple[int, ...]


class Total(BaseModel):
    """A model as a result."""

    path: Path
    total: float


def divide(dividend: float, divisor: float) -> float:
    print("not an answer")
    return dividend / divisor


def add(question: Question) -> Total:
    return Total(path=question.path, total=sum(question.numbers))


def process_id() -> int:
    return os.getpid()


def allocate(num_bytes: int) -> int:
    return len(bytearray(num_bytes))


def write(path: Path, num_bytes: int) -> int:
    return path.write_bytes(bytes(num_bytes))


def compute() -> None:
    while True:
        pass


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_models_are_arguments_and_results(tmp_path: Path) -> None:
    with IsolatedFunction(add, Limits(), seconds=SECONDS) as isolated:
        assert isolated(Question(path=tmp_path, numbers=(1, 2, 3))) == Total(path=tmp_path, total=6.0)


def test_its_process_outlives_an_exception() -> None:
    with IsolatedFunction(divide, Limits(), seconds=SECONDS) as isolated:
        assert isolated(1, 4) == 0.25
        with pytest.raises(CallFailedError, match="ZeroDivisionError"):
            isolated(1, divisor=0)
        assert isolated(3, 2) == 1.5


def test_one_process_answers_until_it_is_left() -> None:
    with IsolatedFunction(process_id, Limits(), seconds=SECONDS) as isolated:
        first = isolated()
        assert first != os.getpid()
        assert isolated() == first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_memory_is_limited() -> None:
    with IsolatedFunction(allocate, Limits(memory_bytes=2 * 2**30), seconds=SECONDS) as isolated:
        assert isolated(1_000) == 1_000
        with pytest.raises(CallFailedError, match="MemoryError"):
            isolated(3 * 2**30)


def test_written_files_are_limited(tmp_path: Path) -> None:
    with IsolatedFunction(write, Limits(file_bytes=100), seconds=SECONDS) as isolated:
        assert isolated(tmp_path / "small", 100) == 100
        with pytest.raises(CallFailedError, match="File too large"):
            isolated(tmp_path / "large", 101)


def test_computing_is_limited_and_the_next_call_starts_another_process() -> None:
    with IsolatedFunction(compute, Limits(cpu_seconds=1), seconds=SECONDS) as isolated:
        for _ in range(2):
            with pytest.raises(CallFailedError, match="longer than 1 s of CPU time"):
                isolated()


def test_waiting_is_limited() -> None:
    with (
        IsolatedFunction(sleep, Limits(), seconds=0.2) as isolated,
        pytest.raises(CallFailedError, match="took longer"),
    ):
        isolated(SECONDS)


def test_a_killed_process_is_reported() -> None:
    with (
        IsolatedFunction(end, Limits(), seconds=SECONDS) as isolated,
        pytest.raises(CallFailedError, match=r"ended \(Killed\)"),
    ):
        isolated()


def test_a_call_can_be_cancelled() -> None:
    answers = iter([False, False])
    with (
        IsolatedFunction(sleep, Limits(), seconds=SECONDS, is_cancelled=lambda: next(answers, True)) as isolated,
        pytest.raises(CallCancelledError),
    ):
        isolated(SECONDS)


def test_a_function_of_no_module_is_reported() -> None:
    def nested() -> None:
        return

    with (
        IsolatedFunction(nested, Limits(), seconds=SECONDS) as isolated,
        pytest.raises(CallFailedError, match="code 1"),
    ):
        isolated()
