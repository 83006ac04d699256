"""The script that sets up the verl engine says in one line why it cannot, before it makes anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

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
