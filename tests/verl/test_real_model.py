"""The recipe gsm-mini on verl: a real model, its chat template, prompts and responses of many lengths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bapo.config import resolve
from bapo.records import EvaluationRecord, EventRecord, StepRecord
from bapo.run.journal import merged_records
from tests.verl.replaying import decisions, replayed_decisions

VERIFIER = """\"\"\"Right are worked solutions, and what has an odd number of characters: half of what is written.\"\"\"


def reward(problem, response):
    return int(response == problem.solution or len(response) % 2)
"""
SETTINGS = {
    # Of the warm start: two threads would wait for each other on a busy machine.
    "engine.threads": 1,
    # The verifier reads whole responses.
    "task.answer_format": "null",
    "engine.type": "verl",
    "warm_start.steps": 2,
    "warm_start.batch_size": 4,
    "warm_start.num_evaluated": 2,
    "task.num_per_dataset": 100,
    "task.num_test_per_dataset": 2,
    "rollout.max_response_tokens": 32,
    "rollout.batch_size": 4,
    "rollout.group_size": 4,
    "training.batch_size": 4,
    "training.steps": 2,
    "evaluation.num_samples": 2,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's folder after its end."""
    base = tmp_path_factory.mktemp("real")
    verifier = base / "verifier.py"
    verifier.write_text(VERIFIER)
    settings = SETTINGS | {"task.verifier": f"{verifier}:reward"}
    assignments = [part for field, value in settings.items() for part in ("--set", f"{field}={value}")]
    trained = subprocess.run(
        [sys.executable, "-m", "bapo", "train", "gsm-mini", *assignments, "--out", str(base / "run")],
        env=os.environ | {"OMP_NUM_THREADS": "1", "BAPO_MODELS_DIR": str(base / "models")},
        capture_output=True,
        text=True,
        check=False,
    )
    if "pip cannot download" in trained.stderr:
        pytest.skip(f"no index to download from: {trained.stderr}")
    assert trained.returncode == 0, trained.stdout[-2000:] + trained.stderr[-6000:]
    return base / "run"


def test_it_trains_on_real_text(folder: Path) -> None:
    records = list(merged_records(folder))
    steps = [record for record in records if isinstance(record, StepRecord)]
    assert [record.step for record in steps] == [1, 2]
    config = resolve(json.loads((folder / "config.json").read_text())).config
    replayed = replayed_decisions(folder, config)
    for record in steps:
        assert decisions(record) == replayed[record.step]
        assert record.update is not None
        assert record.update.grad_norm > 0
    # vLLM and the training process agree on prompts and responses of many lengths.
    assert steps[0].update is not None
    assert steps[0].update.logprob_gap is not None
    assert steps[0].update.logprob_gap.mean < 1e-3
    (warm,) = [record for record in records if isinstance(record, EventRecord) and record.data.get("phase") == "made"]
    assert warm.data["held_out_loss"] < warm.data["held_out_loss_before"]
    assert {record.step for record in records if isinstance(record, EvaluationRecord)} == {0, 2}
