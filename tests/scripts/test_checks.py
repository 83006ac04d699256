"""The runner of ./test: what runs side by side, and what a failure does."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).parents[2] / "scripts" / "checks.py"


@pytest.fixture
def checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bapo_checks", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bapo_checks", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "LOGS", tmp_path)
    return module


def run(checks: ModuleType, *given: object, cores: float = 3, memory_gib: float = 16) -> dict[str, bool]:
    scheduler = checks.Scheduler(given, cores, memory_gib)
    while scheduler.step():
        time.sleep(0.01)
    done: dict[str, bool] = scheduler.done
    return done


def shell(checks: ModuleType, title: str, script: str, **options: object) -> object:
    return checks.Check(title, ["sh", "-c", script], **options)


def test_what_a_failed_check_printed_is_shown_and_a_good_ones_last_line(
    checks: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run(checks, shell(checks, "good", "echo a; echo 3 passed in 1s"), shell(checks, "bad", "echo why; exit 3"))
    assert done == {"good": True, "bad": False}
    said = capsys.readouterr().out.splitlines()
    assert "why" in said
    assert "a" not in said
    assert "bapo: good: good (0 s, 0 s of CPU) 3 passed in 1s" in said


def test_a_check_after_one_that_failed_is_not_run(checks: ModuleType, tmp_path: Path) -> None:
    done = run(
        checks, shell(checks, "first", "exit 1"), shell(checks, "second", f"touch {tmp_path / 'ran'}", after="first")
    )
    assert done == {"first": False, "second": False}
    assert not (tmp_path / "ran").exists()


def test_checks_run_side_by_side_only_while_there_is_room(checks: ModuleType, tmp_path: Path) -> None:
    # Each fails if it finds another one at work.
    script = f"mkdir {tmp_path / 'alone'} && sleep 0.1 && rmdir {tmp_path / 'alone'}"
    both = [shell(checks, title, script, cores=2.0) for title in ("one", "two")]
    assert run(checks, *both, cores=3) == {"one": True, "two": True}
    heavy = [shell(checks, title, script, memory_gib=9.0) for title in ("one", "two")]
    assert run(checks, *heavy, memory_gib=16) == {"one": True, "two": True}


def test_what_is_too_large_for_the_machine_runs_alone(checks: ModuleType) -> None:
    assert run(checks, shell(checks, "large", "true", cores=64.0, memory_gib=512.0)) == {"large": True}


def test_trl_has_a_lane_of_its_own_that_the_others_leave_out(checks: ModuleType) -> None:
    def titles(**options: str) -> list[str]:
        return [each.title for each in checks.all_checks(fast=False, coverage=False, **{"verl": "no", **options})]

    assert titles(trl="only") == ["TRL environment", "TRL tests"]
    assert {"TRL environment", "TRL tests"} <= set(titles(trl="yes"))
    assert not {"TRL environment", "TRL tests"} & set(titles(trl="no"))
    (unit,) = [
        each
        for each in checks.all_checks(fast=True, verl="no", coverage=False, trl="yes")
        if each.title == "unit tests"
    ]
    assert "not trl" in " ".join(unit.command)


def test_a_thorough_run_draws_more_in_the_tests_that_draw(checks: ModuleType) -> None:
    def thorough(**options: bool) -> set[str]:
        drawn = checks.all_checks(fast=False, verl="no", coverage=False, **options)
        return {each.title for each in drawn if "--hypothesis-profile thorough" in " ".join(each.command)}

    assert thorough() == set()
    assert thorough(thorough=True) == {"unit tests", "e2e and chaos tests"}


@pytest.mark.parametrize("cores", [1, 2, 4, 16])
def test_no_container_starts_beside_a_browser(checks: ModuleType, monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(checks.os, "cpu_count", lambda: cores)
    everything = {
        each.title: each for each in checks.all_checks(fast=False, verl="no", coverage=False, containers="yes")
    }
    # The runner has room for one core more than there are.
    assert everything["containers"].cores + everything["browser tests"].cores > cores + 1
