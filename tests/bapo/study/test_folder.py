"""A study in a folder: made by trainers on the simulated engine, resumed, amended, refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from bapo.config.errors import ConfigError
from bapo.run import nvidia_smi, zygote_client
from bapo.run.journal import attempt_folders
from bapo.study.execution import StudyRunner
from bapo.study.folder import StudyFolder, state_of
from tests.support.command_line import run_here
from tests.support.services import wait_until
from tests.support.simulated_engine import PACE_VARIABLE
from tests.support.simulated_training import simulated_training

TEXT = """
title = "Tiny"
question = "Does it work?"
recipe = "countdown-demo"
seeds = [1, 2]
test_sets = ["CD-34"]
num_runs = 4
[set]
"task.num_train" = 24
"task.num_test" = 4
"rollout.batch_size" = 6
"rollout.group_size" = 8
"training.batch_size" = 6
"training.steps" = 3
"training.checkpoint_interval" = 1
"tracking.num_prompts" = 4
"tracking.interval" = 3
"evaluation.num_samples" = 2
"evaluation.interval" = 3
[[arms]]
name = "A"
method = "bapo"
[[arms]]
name = "B"
method = "grpo"
[primary]
arm = "A"
against = "B"
"""


def bapo(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_here("study", *arguments)


@pytest.fixture(scope="module", autouse=True)
def _simulated_engine() -> Iterator[None]:
    with simulated_training():
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def file(place: Path) -> Path:
    path = place / "tiny.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def made(place: Path, file: Path) -> Path:
    """A study that was killed in its first run and made whole by the same command."""
    folder = place / "made"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.support.simulated_bapo",
            "study",
            str(file),
            "--out",
            str(folder),
            "--workers",
            "2",
        ],
        env={**os.environ, PACE_VARIABLE: "0.5"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    first = folder / "runs" / "main--a--seed-1"
    wait_until(lambda: bool(attempt_folders(first)) and state_of(first)[2] >= 1)
    if not nvidia_smi.query("index"):
        # Trainers are forked: none imports the engine by itself.
        [zygote] = psutil.Process(process.pid).children()
        assert zygote.cmdline()[1:] == ["-m", zygote_client.MODULE]
    # Ctrl-C: the trainers end at their next step boundary.
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) in (0, 130)
    result = bapo(file, "--out", folder, "--workers", "2")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == str(folder / "report.md")
    return folder


def test_an_interrupted_study_goes_on_and_a_done_run_is_not_made_again(made: Path, file: Path) -> None:
    runs = StudyFolder.open(made).runs()
    assert [(run.arm, run.seed, run.state, run.step) for run in runs] == [
        ("A", 1, "done", 3),
        ("B", 1, "done", 3),
        ("A", 2, "done", 3),
        ("B", 2, "done", 3),
    ]
    before = {run.name: len(attempt_folders(made / "runs" / run.name)) for run in runs}
    again = bapo(file, "--out", made)
    assert again.returncode == 0, again.stderr
    assert {run.name: len(attempt_folders(made / "runs" / run.name)) for run in runs} == before


def test_a_trainer_that_was_stopped_before_it_listened_has_not_failed(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = tmp_path / "python"
    loading.write_text(f"#!/bin/sh\ntouch {tmp_path}/started-$$\nexec sleep 600\n")
    loading.chmod(0o755)
    monkeypatch.setattr("bapo.study.execution.trainer_python", lambda _: str(loading))
    folder = StudyFolder.begin(tmp_path / "stopped", file.read_text())
    runner = StudyRunner(folder, workers=1, say=lambda _: None)
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(runner.run)
        wait_until(lambda: any(tmp_path.glob("started-*")))
        runner.stop()
        outcomes = made.result()
    assert {(outcome.state, outcome.reason) for outcome in outcomes} == {("waiting", None)}


def test_the_report_is_there_in_three_forms(made: Path) -> None:
    report = json.loads((made / "report.json").read_text())
    assert (report["is_complete"], report["primary"]["seeds"]) == (True, [1, 2])
    assert report["machine"]
    assert "## The primary comparison" in (made / "report.md").read_text()
    page = (made / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    printed = bapo("report", made)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout == (made / "report.md").read_text()


def test_a_changed_declaration_is_refused_unless_it_is_amended(made: Path, place: Path) -> None:
    changed = place / "changed.toml"
    changed.write_text(TEXT.replace('name = "B"\nmethod = "grpo"', 'name = "B"\nmethod = "grpo_delayed"'))
    refused = bapo(changed, "--out", made)
    assert refused.returncode == 2
    assert "arms.B changed after the first run: start a new study in another folder" in refused.stderr
    with pytest.raises(ConfigError, match="after the first run"):
        StudyFolder.begin(made, changed.read_text())
    folder = StudyFolder.begin(made, changed.read_text(), amend="B should have been delayed")
    assert [run.state for run in folder.runs()] == ["done", "waiting", "done", "waiting"]
    report = folder.report()
    [amendment] = report.amendments
    assert (amendment.changed, amendment.num_done, amendment.num_set_aside) == (["arms.B"], 4, 2)
    assert amendment.reason == "B should have been delayed"
    assert not report.is_complete
    # What was set aside is kept.
    assert len(list((made / "set-aside").glob("*/main--b--seed-*"))) == 2


def test_two_commands_at_once_do_not_share_a_study(place: Path, file: Path) -> None:
    folder = StudyFolder.begin(place / "shared", file.read_text())
    with folder.exclusive():
        result = bapo(file, "--out", place / "shared")
    assert result.returncode == 2
    assert "another `bapo study` is using it" in result.stderr


def test_a_run_that_cannot_be_trained_is_named_with_its_reason(place: Path, file: Path) -> None:
    text = TEXT.replace("[set]", '[set]\n"model.path" = "/nowhere"').replace("seeds = [1, 2]", "seeds = [1]")
    bad = place / "bad.toml"
    bad.write_text(text.replace("num_runs = 4", "num_runs = 2"))
    result = bapo(bad, "--out", place / "bad")
    assert result.returncode == 1
    runs = StudyFolder.open(place / "bad").runs()
    assert [run.state for run in runs] == ["failed", "failed"]
    assert "/nowhere" in (runs[0].reason or "")
    assert "A, seed 1: failed" in (place / "bad" / "report.md").read_text()


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    result = bapo("no-such-study")
    assert (result.returncode, "no such study: take one of" in result.stderr) == (2, True)
    assert bapo("check", "stability-mini").stdout.startswith("Stability of BAPO: 25 runs")
    assert bapo("report", tmp_path).returncode == 2
