"""The garbage collector rests while a process of verl imports, and goes on afterwards."""

from __future__ import annotations

import gc
import sys
import threading
import types
from importlib import import_module

import pytest

from bapo.engines.verl import worker_start
from bapo.engines.verl.worker_start import HOOK, rest_collector
from tests.support.waiting import PATIENCE_SECONDS, wait_until


class Pauses:
    """In the place of time.sleep: pauses whose end is the test's."""

    def __init__(self) -> None:
        self._began, self._may_end = threading.Semaphore(0), threading.Semaphore(0)

    def sleep(self, _: float) -> None:
        self._began.release()
        assert self._may_end.acquire(timeout=PATIENCE_SECONDS)

    def wait_for_next(self) -> None:
        assert self._began.acquire(timeout=PATIENCE_SECONDS)

    def end(self, count: int = 1) -> None:
        self._may_end.release(count)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    pauses = Pauses()
    monkeypatch.setattr(worker_start, "time", pauses)
    return pauses


def test_the_collector_rests_and_goes_on_when_nothing_more_is_imported(pauses: Pauses) -> None:
    rest_collector()
    pauses.wait_for_next()
    assert not gc.isenabled()
    # More than one where another thread of the tests imports something.
    pauses.end(100)
    wait_until(gc.isenabled)


def test_it_rests_for_as_long_as_modules_come(pauses: Pauses, monkeypatch: pytest.MonkeyPatch) -> None:
    rest_collector()
    for number in range(3):
        pauses.wait_for_next()
        assert not gc.isenabled()
        monkeypatch.setitem(sys.modules, f"tests.comes_{number}", types.ModuleType("comes"))
        pauses.end()
    pauses.wait_for_next()
    assert not gc.isenabled()
    pauses.end(100)
    wait_until(gc.isenabled)


def test_ray_is_told_of_it_by_its_path() -> None:
    module, _, name = HOOK.rpartition(".")
    assert getattr(import_module(module), name) is rest_collector
