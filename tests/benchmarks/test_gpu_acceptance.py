"""The checks of a machine with a GPU, made on the CPU: each is made, and judged as its threshold says."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bapo.config import apply_changes, parse_assignments, resolve
from bapo.config.recipes import load_recipe
from benchmarks.demo import train_command
from benchmarks.gpu_acceptance.checks import Check, as_table
from tests.support.late_imports import late_imports
from tests.support.recorded import NUM_STEPS

with late_imports():
    from benchmarks.gpu_acceptance import local
    from benchmarks.gpu_acceptance.__main__ import main


def test_a_check_passes_up_to_its_threshold() -> None:
    assert Check("gap", 1e-3, "nats", 1e-3).passed
    assert not Check("gap", 2e-3, "nats", 1e-3).passed
    assert not Check("gap", math.nan, "nats", 1e-3).passed, "what could not be computed is no pass"
    assert Check("cosine", 1.0, "", 0.9999, "at least").passed
    assert Check("speed", 100.0, "tokens/s").passed, "measured, not judged"
    table = as_table([Check("gap", 2e-3, "nats", 1e-3), Check("speed", 100.0, "tokens/s")])
    assert "| gap | 0.002 nats | at most 0.001 | FAIL |" in table
    assert "| speed | 100 tokens/s |  | measured |" in table


def run_here(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command in this process, which has imported PyTorch, and return its exit status."""
    monkeypatch.setattr(sys, "argv", ["benchmarks.gpu_acceptance", *arguments])
    return main()


def test_all_checks_of_the_local_engine_are_made(
    recorded_folders: Mapping[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands: list[Sequence[str]] = []

    def demo(run_folder: Path, settings: Mapping[str, Any]) -> list[str]:
        """Record what the demo would in its time, and start a process that is killed as the demo is."""
        commands.append(train_command(run_folder, settings))
        shutil.copytree(recorded_folders["bapo-seed-1"], run_folder)
        return ["sleep", "600"]

    monkeypatch.setattr(local, "train_command", demo)
    answers = tmp_path / "answers.json"
    status = run_here(monkeypatch, "local", "--device", "cpu", "--small", "--minutes", "0", "--json", str(answers))
    made = json.loads(answers.read_text())
    printed = capsys.readouterr().out
    assert len(made) == 23, printed
    failed = {check["name"] for check in made if not check["passed"]}
    assert failed <= {"its reward in the last quarter, above the first"}, printed
    assert status == bool(failed)
    assert {check["name"]: check["value"] for check in made}["steps of the demo"] == NUM_STEPS
    # What the demo's command says is a config that trains.
    ((_, _, _, command, recipe, *options),) = commands
    assignments = [value for option, value in pairwise(options) if option == "--set"]
    config = resolve(apply_changes(load_recipe(recipe).explicit, parse_assignments(assignments))).config
    assert (command, config.engine.device) == ("train", "cpu")


def test_without_a_gpu_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit) as ended:
        run_here(monkeypatch, "local")
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "--device cuda: PyTorch finds no GPU here; --device cpu tries the checks without one" in said
