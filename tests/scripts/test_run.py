"""`./run` answers a question about itself before it sets anything up."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--port", "8100", "--help"]])
def test_help_is_printed_without_setting_anything_up(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "scripts").mkdir()
    for name in ("run", "scripts/setup.sh"):
        shutil.copy(ROOT / name, tmp_path / name)
    result = subprocess.run(
        ["sh", tmp_path / "run", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert result.stderr == ""
    for option in ("--port", "--data", "--slots", "--no-demo", "--no-browser", "--listen", "--verl"):
        assert option in result.stdout
    assert not (tmp_path / ".venv").exists()
