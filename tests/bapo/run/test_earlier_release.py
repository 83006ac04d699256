"""A run folder that the last release wrote: this one reads it, explains it, sends it and resumes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo.run.run_folder import read_config
from bapo.run.trainer import train
from tests.support.archives import unpack
from tests.support.command_line import run_here
from tests.support.small_runs import steps_of

ARCHIVE = Path(__file__).resolve().parents[2] / "data" / "release-0028-run.tar.xz"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run folder, beside the model that its config names."""
    unpack(ARCHIVE, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "toy-run"


def test_a_report_shows_its_steps(folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    done = run_here("report", folder, "--out", report)
    assert done.returncode == 0, done.stderr
    assert "toy-model" in report.read_text(encoding="utf-8")


def test_its_stream_is_replayed_under_other_settings(folder: Path) -> None:
    done = run_here("what-if", folder, "--set", "method.m=2")
    assert done.returncode == 0, done.stderr
    assert "method.m: 5 → 2" in done.stdout


def test_it_resumes_after_a_crash_with_the_same_prompts(folder: Path) -> None:
    before = steps_of(folder)
    # As if the trainer had been killed during step 4.
    (folder / "attempt-1" / "summary.json").unlink()
    for file in (folder / "checkpoints" / "step-000004").rglob("*"):
        if file.is_file():
            file.unlink()
    journal = folder / "attempt-1" / "records.jsonl"
    kept = [line for line in journal.read_text(encoding="utf-8").splitlines() if '"step":4' not in line]
    journal.write_text("\n".join([*kept, ""]), encoding="utf-8")

    assert train(folder, read_config(folder)).status == "succeeded"
    after = steps_of(folder)
    assert [(step.step, step.attempt) for step in after] == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert [visit.prompt_id for visit in after[-1].prompts] == [visit.prompt_id for visit in before[-1].prompts]
