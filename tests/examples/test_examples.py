"""The examples run as their readers would run them; those that need a server, in `tests/e2e/test_first_run.py`."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import run_here

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Runner:
    """Runs an example in this process, in a folder: a new process imports for longer than an example takes."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, printed: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._patch = patch
        self._printed = printed
        patch.chdir(folder)

    def script(self, file: Path, *arguments: str) -> str:
        """Run a script as its readers do, and return its output."""
        self._patch.setattr(sys, "argv", [str(file), *arguments])
        runpy.run_path(str(file), run_name="__main__")
        return self._printed.readouterr().out

    def notebook(self, file: Path) -> tuple[str, dict[str, Any]]:
        """Run the code of a notebook, and return its output and its variables."""
        cells = json.loads(file.read_text())["cells"]
        code = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
        variables: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(code, str(file), "exec"), variables)  # noqa: S102 - an example of ours
        return self._printed.readouterr().out, variables


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("rewards", "is_stuck"),
    [
        ([0.2, 0.2, 0.2], False),  # one step too few for two means of two
        ([0.2, 0.2, 0.2, 0.2], True),
        ([0.2, 0.2, 0.2, 0.4], False),  # 0.3 - 0.2 is the least rise that counts
        ([0.9, 0.2, 0.2, 0.2, 0.2], True),  # what was before does not count
    ],
)
def test_stuck_means_no_rise_between_the_last_two_means(rewards: Sequence[float], is_stuck: bool) -> None:
    namespace: dict[str, object] = {"__name__": "steer_when_stuck"}
    exec((EXAMPLES / "steer_when_stuck.py").read_text(), namespace)  # noqa: S102 - an example of ours, no package
    function = namespace["is_stuck"]
    assert callable(function)
    assert function(rewards, 2, 0.1 - 1e-9) is is_stuck


def test_the_task_of_ones_own_trains_and_is_verified_by_its_own_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "own_task"
    shutil.copytree(EXAMPLES / "own_task", folder)
    monkeypatch.chdir(folder)
    small = ("training.steps=3", "rollout.batch_size=8", "training.batch_size=8", "evaluation.num_samples=2")
    arguments = [part for assignment in small for part in ("--set", assignment)]
    done = run_here("train", "recipe.toml", *arguments, "--out", "run")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["status"], summary["steps"]) == ("succeeded", 3)
    assert [each["dataset"] for each in summary["evaluations"]] == ["held_out"]
    # The shipped model solves 44 % of these problems before it is trained on them.
    assert 0.2 < summary["evaluations"][0]["base"]["value"] < 0.7


def test_the_problems_of_ones_own_are_those_that_the_script_writes(runner: Runner) -> None:
    runner.script(Path(shutil.copy(EXAMPLES / "own_task" / "make_problems.py", runner.folder)))
    for name in ("problems.jsonl", "held_out.jsonl"):
        assert (runner.folder / name).read_text() == (EXAMPLES / "own_task" / name).read_text()


def test_the_notebook_draws_each_figure_from_run_folders(recorded_folders: Mapping[str, Path], runner: Runner) -> None:
    (runner.folder / "runs").mkdir()
    for name, folder in recorded_folders.items():
        (runner.folder / "runs" / name).symlink_to(folder)
    said, variables = runner.notebook(EXAMPLES / "figures.ipynb")
    assert all(len(variables[name].data) for name in ("accuracies", "batches", "unlocked"))
    assert re.search(r"^GRPO 2 \[0\.\d+", said, re.MULTILINE)


def test_the_notebook_observes_a_loop_and_leaves_out_what_it_never_solves(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = json.loads((EXAMPLES / "observe.ipynb").read_text())
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["name"]) == (4, "python3")
    monkeypatch.setattr(tempfile, "tempdir", str(runner.folder))
    said, _ = runner.notebook(EXAMPLES / "observe.ipynb")
    assert "prompts with two visits or more were never solved" in said
    # A fifth of the prompts are hopeless, and the list holds those that were visited often enough to be sure.
    kept = re.search(r"^(\d+) of 100 prompts stay", said, re.MULTILINE)
    assert kept is not None
    assert 70 <= int(kept[1]) < 90


def test_the_script_for_verl_names_the_logger_and_verls_module() -> None:
    script = EXAMPLES / "observe_verl.sh"
    env = {**os.environ, "PYTHON": "echo"}
    done = subprocess.run(
        ["sh", script, "a.parquet", "b.parquet", "model", "trainer.total_training_steps=2"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    said = done.stdout.split()
    assert said[:2] == ["-m", "verl.trainer.main_ppo"]
    assert "trainer.logger=[console,bapo]" in said
    assert said[-1] == "trainer.total_training_steps=2"
    assert subprocess.run(["sh", script], capture_output=True, check=False).returncode == 2


def test_the_readme_names_every_example() -> None:
    text = (EXAMPLES / "README.md").read_text()
    examples = [path.name for path in EXAMPLES.iterdir() if path.name not in ("README.md", "__pycache__")]
    assert len(examples) >= 4
    assert [name for name in examples if f"]({name}" not in text] == []


def test_a_loop_of_ones_own_is_observed_in_three_lines(runner: Runner) -> None:
    said = runner.script(EXAMPLES / "observe_a_loop.py", "run")
    assert "recorded 40 steps in run" in said
    journal = (runner.folder / "run" / "attempt-1" / "records.jsonl").read_text()
    assert journal.count('"type":"step"') == 40
