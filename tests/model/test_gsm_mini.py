"""The recipe gsm-mini by one command: the model is fetched, warm-started, trained, and asked something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import run_here
from tests.support.small_runs import events, steps_of

pytestmark = pytest.mark.model
# Responses of 32 tokens hold the worked solutions of short sums.
SMALL = {
    # Two threads wait for each other at every layer, which on a busy machine takes several times as long.
    "engine.threads": 1,
    "warm_start.steps": 2,
    "warm_start.batch_size": 4,
    "warm_start.num_evaluated": 2,
    "task.num_per_dataset": 100,
    "task.num_test_per_dataset": 2,
    "rollout.max_response_tokens": 32,
    "rollout.batch_size": 2,
    "rollout.group_size": 4,
    "training.batch_size": 2,
    "training.steps": 1,
    "evaluation.num_samples": 2,
}
OPTIONS = [part for field, value in SMALL.items() for part in ("--set", f"{field}={value}")]


def test_one_command_trains_it_from_nothing_and_its_comparison_reuses_the_warm_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("reasoning_gym", reason="needs a C compiler for pycosat")
    monkeypatch.setenv("BAPO_MODELS_DIR", str(tmp_path / "models"))
    run, grpo = tmp_path / "bapo", tmp_path / "grpo"
    trained = run_here("train", "gsm-mini", *OPTIONS, "--out", run)
    if "pip cannot download" in trained.stderr:
        pytest.skip(f"no index to download from: {trained.stderr}")
    assert trained.returncode == 0, trained.stderr
    begun, made = events(run, "warm_start")
    assert begun.message == "smollm2-135m learns from right responses: 2 steps of 4"
    assert made.data["phase"] == "made"
    assert made.data["traces"]["source"] == "solutions"
    assert made.data["held_out_loss"] < made.data["held_out_loss_before"]
    assert f"warm start: {made.message}" in trained.stderr
    assert [record.counts.fresh for record in steps_of(run)] == [2]
    listed = json.loads(run_here("model", "list", "--json").stdout)["items"]
    licences = {each["name"].partition("-")[0]: each["licence"] for each in listed if each["folder"]}
    assert licences == {"smollm2": "Apache-2.0", "warm": "Apache-2.0"}

    assert run_here("train", "gsm-mini-grpo", *OPTIONS, "--set", "training.seed=1", "--out", grpo).returncode == 0
    assert [event.data["phase"] for event in events(grpo, "warm_start")] == ["reused"]

    asked = run_here("chat", run, "--prompt", "What is 3 + 4?", "--max-tokens", "4", "--json")
    assert set(json.loads(asked.stdout)["answers"]) == {"base", "warm start", "step 1"}
