"""The script that sets up the verl engine says in one line why it cannot, before it makes anything."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def _answer(folder: Path, name: str, answer: str) -> None:
    """A program in the folder that always answers the same."""
    program = folder / name
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' '{answer}'\n")
    program.chmod(0o755)


def _set_up(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["sh", "-c", '. "$ROOT/scripts/setup.sh"; reason=$(why_no_verl); [ -z "$reason" ] || die "$reason"'],
        env=environment | {"ROOT": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_another_system_than_linux(tmp_path: Path) -> None:
    _answer(tmp_path, "uname", "Darwin arm64")
    refused = _set_up(tmp_path)
    assert (refused.returncode, refused.stderr) == (
        1,
        "bapo: vLLM's build for the CPU exists for Linux on x86-64 and ARM only\n",
    )


@pytest.mark.parametrize(("memory_kib", "fits"), [("11499999", False), ("11500000", True)])
def test_too_little_memory(tmp_path: Path, memory_kib: str, fits: bool) -> None:
    _answer(tmp_path, "uname", "Linux aarch64")
    _answer(tmp_path, "sed", memory_kib)
    done = _set_up(tmp_path)
    assert (done.returncode == 0) is fits
    assert fits or "it takes 11 GB of memory, and this machine has less than 12" in done.stderr


def test_the_lock_for_gpus_has_what_the_extras_ask_for() -> None:
    lines = (ROOT / "requirements-verl-gpu.lock").read_text().splitlines()
    locked = {(pin := Requirement(line)).name: pin for line in lines if not line.startswith("#")}
    assert all(len(pin.specifier) == 1 and str(pin.specifier).startswith("==") for pin in locked.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = [
        *project["dependencies"],
        *(line for name in ("train", "report", "verl", "worker") for line in extras[name]),
    ]
    for wanted in map(Requirement, asked):
        if wanted.name != project["name"]:
            version = str(locked[wanted.name].specifier).removeprefix("==")
            assert wanted.specifier.contains(version), wanted
            # Of every Linux machine that the engine runs on.
            assert locked[wanted.name].marker is None, wanted


def test_for_gpus_a_machine_without_one_is_refused_in_one_line(tmp_path: Path) -> None:
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a GPU")
    _answer(tmp_path, "nvidia-smi", "No devices were found")
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    script = ["sh", str(ROOT / "scripts" / "setup_verl.sh")]
    refused = subprocess.run([*script, "--gpu"], env=environment, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert re.fullmatch(r"bapo: the verl engine cannot run here: no NVIDIA GPU is to be seen .*\n", refused.stderr)
    unknown = subprocess.run([*script, "--gpus"], capture_output=True, text=True, check=False)
    assert (unknown.returncode, unknown.stderr) == (
        1,
        "bapo: --gpus is no option: sh scripts/setup_verl.sh [--gpu | --images]\n",
    )
