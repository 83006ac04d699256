"""The checks of a machine with a GPU, made on the CPU: each is made, and judged as its threshold says."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

from benchmarks.gpu_acceptance.checks import Check, as_table

DEPENDS_ON_SPEED = ("steps of the demo", "its reward in the last quarter, above the first")


def test_a_check_passes_up_to_its_threshold() -> None:
    assert Check("gap", 1e-3, "nats", 1e-3).passed
    assert not Check("gap", 2e-3, "nats", 1e-3).passed
    assert not Check("gap", math.nan, "nats", 1e-3).passed, "what could not be computed is no pass"
    assert Check("cosine", 1.0, "", 0.9999, "at least").passed
    assert Check("speed", 100.0, "tokens/s").passed, "measured, not judged"
    table = as_table([Check("gap", 2e-3, "nats", 1e-3), Check("speed", 100.0, "tokens/s")])
    assert "| gap | 0.002 nats | at most 0.001 | FAIL |" in table
    assert "| speed | 100 tokens/s |  | measured |" in table


def test_all_checks_of_the_local_engine_are_made(tmp_path: Path) -> None:
    answers = tmp_path / "answers.json"
    command = [sys.executable, "-m", "benchmarks.gpu_acceptance", "local", "--device", "cpu", "--small"]
    done = subprocess.run(
        [*command, "--minutes", "0.2", "--json", str(answers)], capture_output=True, text=True, check=False
    )
    made = json.loads(answers.read_text())
    assert len(made) == 23, done.stdout
    failed = {check["name"] for check in made if not check["passed"]}
    assert failed <= set(DEPENDS_ON_SPEED), done.stdout
    assert done.returncode == bool(failed)


def test_without_a_gpu_the_remedy_is_told() -> None:
    command = [sys.executable, "-m", "benchmarks.gpu_acceptance", "local"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 2
    assert "--device cuda: PyTorch finds no GPU here; --device cpu tries the checks without one" in done.stderr
