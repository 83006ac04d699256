"""`bapo study power` and `bapo study check`: what a design shows, and everything that is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from bapo.cli import app
from bapo.study.declaration import shipped

RUNNER = CliRunner()


def run(*arguments: str, code: int = 0) -> str:
    result = RUNNER.invoke(app, ["study", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_power_of_seeds_and_of_a_file() -> None:
    # 1.682 · 1.25 points and 1.682 · 1.41 points.
    assert run("power", "--seeds", "5", "--sd", "1.25").startswith("5 seeds show 2.1 points (80 % power")
    assert run("power", "planning-mini").startswith("5 seeds show 2.4 points")
    found = json.loads(run("power", "--seeds", "1", "--json"))
    assert (found["detectable"], found["source"]) == (None, "shipped")


def test_power_takes_a_file_or_seeds() -> None:
    assert "one of them" in run("power", code=2)
    assert "one of them" in run("power", "planning-mini", "--seeds", "3", code=2)


def test_a_check_tells_everything_at_once(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    text = shipped()["stability-mini"]
    file.write_text(
        text.replace("num_runs = 25", "num_runs = 7").replace('"mean"', '"CD-3"').replace("grpo_delayed", "x")
    )
    told = run("check", str(file), code=2)
    for field in ("num_runs", "primary.test_set", "arms.GRPO (v = 5).method"):
        assert field in told
