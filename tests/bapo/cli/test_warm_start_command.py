"""`bapo warm-start` and `bapo describe`, on a file of problems with worked solutions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bapo.cli.planned import planned_run
from bapo.config import apply_changes, resolve
from bapo.methods.probe import probe_changes
from bapo.run.run_folder import CONFIG_FILE
from tests.support.command_line import run_here


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "sums.jsonl"
    rows = [
        {
            "prompt": [{"role": "system", "content": "Add."}, {"role": "user", "content": f"{a} {b}={a + b}"}],
            "answer": {"nums": [a, b], "target": a + b},
            "solution": f"{a}+{b}",
        }
        for a in range(1, 8)
        for b in range(1, 8)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_model_is_trained_on_a_files_solutions_and_the_last_line_says_how(data: Path, tmp_path: Path) -> None:
    options = ("--set", "task.verifier=countdown", "--steps", "3", "--batch-size", "4", "--evaluated", "1")
    result = run_here("warm-start", "countdown-base", data, *options, "--out", tmp_path / "warm")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout.splitlines()[-1])
    # 3 · 4 traces to learn and 32 to hold out are wanted; of these 44 a tenth is held out.
    assert report["traces"]["source"] == "solutions"
    assert report["folder"] == str(tmp_path / "warm")
    assert "learning from 40 traces" in result.stderr
    again = run_here("warm-start", "countdown-base", data, *options, "--out", tmp_path / "warm")
    assert again.returncode != 0
    assert "the folder is not empty: name a new one" in again.stderr


def test_a_model_without_data_is_refused(tmp_path: Path) -> None:
    result = run_here("warm-start", "countdown-base", "--out", tmp_path / "warm")
    assert result.returncode != 0
    assert "name the problems to learn from: a data file, a recipe, or a probe's folder" in result.stderr


def test_prompts_are_shown_in_the_models_chat_template(data: Path) -> None:
    result = run_here("describe", "countdown-base", data, "--set", "task.verifier=countdown", "--json")
    (shown,) = json.loads(result.stdout)["items"]
    assert shown["prompt"] == "<|system|>Add.<|im_end|><|user|>1 1=2<|im_end|><|assistant|>"
    assert (shown["solution"], shown["answer"]) == ("1+1", {"nums": [1, 1], "target": 2})
    assert [message["role"] for message in shown["messages"]] == ["system", "user"]


def test_a_probes_folder_names_the_problems_of_the_run_that_it_was_made_for(tmp_path: Path) -> None:
    planned = {"training": {"steps": 90}, "task": {"num_train": 64}}
    complete = resolve(planned).config.model_dump(mode="json")
    probe = resolve(apply_changes(planned, probe_changes(complete, 24))).config
    (tmp_path / CONFIG_FILE).write_text(probe.model_dump_json())
    config = planned_run("models/mine", str(tmp_path), ["task.num_test=8"]).config
    assert (config.model.path, config.method.type, config.training.steps) == ("models/mine", "bapo", 90)
    assert (config.task.model_dump()["num_train"], config.task.model_dump()["num_test"]) == (64, 8)
