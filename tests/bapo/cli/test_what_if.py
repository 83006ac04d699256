"""`bapo what-if` on a run folder that was trained with changes, a stop and a second attempt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bapo.run.control import ControlRequest, append_request
from tests.support.command_line import TINY, run_here
from tests.support.simulated_training import simulated_training

NUM_STEPS = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """c1 and m change at step 4, m again at step 9; the run is stopped at step 7 and resumed."""
    run = tmp_path_factory.mktemp("what-if") / "run"
    run.mkdir()
    append_request(run, ControlRequest(id="a", author="me", at_step=4, set={"method.c1": "1/4", "method.m": 2}))
    append_request(run, ControlRequest(id="b", author="me", at_step=7, stop=True))
    append_request(run, ControlRequest(id="c", author="me", at_step=9, set={"method.m": 3}))
    settings = [*TINY, *("--set", f"training.steps={NUM_STEPS}", "--set", "training.checkpoint_interval=5")]
    with simulated_training():
        for _ in range(2):
            done = run_here("train", "countdown-demo", *settings, "--out", run)
            assert done.returncode in (0, 3), done.stderr
    assert (run / "attempt-2").is_dir()
    return run


def test_the_baseline_is_the_record_over_changes_and_attempts(folder: Path) -> None:
    done = run_here("what-if", folder, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["num_steps"], answer["num_disagreeing"], answer["num_draws"]) == (NUM_STEPS, 0, 1)
    for kind in ("x2", "x3", "fill_rate", "reevaluated", "difficult_size", "high_quality_size"):
        assert answer["forecast"][kind]["mean"] == pytest.approx(answer["recorded"][kind], abs=1e-4), kind
    assert answer["run_changes"] == [
        {"first_step": 4, "changes": {"method.c1": "1/4", "method.m": 2}},
        {"first_step": 9, "changes": {"method.m": 3}},
    ]
    assert sum(answer["recorded"]["reevaluated"]) > 0


def test_a_table_says_what_would_have_been(folder: Path) -> None:
    done = run_here("what-if", folder, "--set", "method.m=1", env={"COLUMNS": "120"})
    assert done.returncode == 0, done.stderr
    assert "mean fill rate" in done.stdout
    assert "never happened" in done.stdout
    assert "not simulated" in done.stdout


def test_a_field_that_cannot_be_replayed_is_named(folder: Path) -> None:
    done = run_here("what-if", folder, "--set", "rollout.batch_size=2")
    assert done.returncode == 2
    assert "rollout.batch_size = 2: cannot be replayed" in done.stderr


def test_what_was_not_recorded_is_called_an_estimate(folder: Path) -> None:
    changes = ("--set", "method.type=dapo", "--set", "rollout.group_size=8")
    done = run_here("what-if", folder, *changes, env={"COLUMNS": "120"})
    assert done.returncode == 0, done.stderr
    assert "estimate, 90 % interval" in done.stdout
    assert "fresh groups are no recorded ones" in " ".join(done.stdout.split())
    answer = json.loads(run_here("what-if", folder, *changes, "--json").stdout)
    assert answer["estimated"]
    rollouts = answer["totals"]["rollouts"]
    assert rollouts["estimated"]
    assert rollouts["low"] < rollouts["forecast"] < rollouts["high"]
    assert not answer["totals"]["x2_share"]["estimated"]


def test_what_is_neither_a_folder_nor_on_a_server_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_here("what-if", "no-such-run")
    assert done.returncode == 4  # Nobody is logged in to a server that could have it.
    assert "is not a folder here" in " ".join(done.stderr.replace("│", " ").split())
