"""The environment in which TRL is tried."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def test_the_lock_has_trl_and_the_base_installation() -> None:
    lines = (ROOT / "requirements-trl.lock").read_text().splitlines()
    locked = {(pin := Requirement(line)).name: pin for line in lines if not line.startswith("#")}
    assert all(len(pin.specifier) == 1 and str(pin.specifier).startswith("==") for pin in locked.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for wanted in map(Requirement, project["dependencies"]):
        assert wanted.specifier.contains(str(locked[wanted.name].specifier).removeprefix("==")), wanted
    assert {"trl", "torch", "transformers", "accelerate", "datasets"} <= locked.keys()


def test_an_option_that_there_is_not_is_refused_in_one_line() -> None:
    script = ["sh", str(ROOT / "scripts" / "setup_trl.sh"), "--gpu"]
    refused = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (1, "bapo: --gpu is no option: sh scripts/setup_trl.sh\n")
