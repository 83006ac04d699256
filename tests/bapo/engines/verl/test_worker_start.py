"""The garbage collector rests while a process of verl imports, and goes on afterwards."""

from __future__ import annotations

import gc
import sys
import time
import types
from importlib import import_module

import pytest

from bapo.engines.verl import worker_start
from bapo.engines.verl.worker_start import HOOK, rest_collector


def _wait_until_enabled() -> None:
    end = time.monotonic() + 10
    while not gc.isenabled() and time.monotonic() < end:
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def _short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_start, "_PAUSE_SECONDS", 0.2)


def test_the_collector_rests_and_goes_on_when_nothing_more_is_imported() -> None:
    rest_collector()
    assert not gc.isenabled()
    _wait_until_enabled()
    assert gc.isenabled()


def test_it_rests_for_as_long_as_modules_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_start, "_PAUSE_SECONDS", 1.0)
    rest_collector()
    # For longer than two pauses.
    for number in range(12):
        monkeypatch.setitem(sys.modules, f"tests.comes_{number}", types.ModuleType("comes"))
        time.sleep(0.2)
        assert not gc.isenabled()
    _wait_until_enabled()
    assert gc.isenabled()


def test_ray_is_told_of_it_by_its_path() -> None:
    module, _, name = HOOK.rpartition(".")
    assert getattr(import_module(module), name) is rest_collector
