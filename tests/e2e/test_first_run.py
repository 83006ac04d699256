"""What people do to a server over REST and by commands, besides what `test_journey.py` does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bapo.api.runs import RunStatus
from bapo.client import Client
from tests.support.command_line import run_here
from tests.support.stack import SMALL_RUN, Stack, all_records, assignments, ended, submit, wait_for
from tests.support.trained import train_one_after_another

pytestmark = pytest.mark.e2e

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def client(stack: Stack) -> Iterator[Client]:
    with stack.client() as client:
        yield client


def test_a_second_instance_on_the_same_folder_is_one_line(stack: Stack) -> None:
    result = run_here("up", "--data", stack.folder, "--port", "1", "--no-browser")
    assert result.returncode == 1
    assert result.stdout == ""
    assert f"Another instance (process {stack.pid}, {stack.url}) is at work in" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def run_example(stack: Stack, name: str, *arguments: str) -> str:
    """Its output."""
    token = (stack.folder / "admin-token").read_text().strip()
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        env={**os.environ, "BAPO_SERVER": stack.url, "BAPO_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_that_watches_prints_every_step(stack: Stack) -> None:
    settings = {**SMALL_RUN, "training.steps": 6}
    said = run_example(stack, "submit_and_watch.py", *(f"{name}={json.dumps(each)}" for name, each in settings.items()))
    steps = re.findall(r"^step (\d+): reward 0\.\d\d; X1 \d+, X2 \d+, X3 \d+ of 12$", said, re.MULTILINE)
    assert steps == ["1", "2", "3", "4", "5", "6"]
    assert re.search(r"^succeeded after 6 steps; CD-34 avg@2 \d+\.\d%$", said, re.MULTILINE)


def test_the_example_that_steers_changes_c1_in_a_running_run(client: Client, stack: Stack) -> None:
    # It trains until it is stopped. Nothing gains more than 1, so that it is stuck after two steps.
    run_id = submit(client, "stuck", **{"training.steps": 100_000, "training.checkpoint_interval": 100_000})
    said = run_example(stack, "steer_when_stuck.py", run_id, "--patience", "1", "--gain", "1.5", "--c1", "1/4")
    applied = re.search(r"^stuck at step (\d+): asking for c1 = 1/4\napplied at step (\d+)$", said, re.MULTILINE)
    assert applied is not None, said
    assert int(applied[1]) < int(applied[2])
    steps = wait_for(lambda: [each for each in all_records(client, run_id, "step") if each["step"] >= int(applied[2])])
    assert steps[0]["thresholds"]["c1"] == 0.25
    client.stop(run_id)
    ended(client, run_id)


def test_a_model_that_is_missing_fails_with_its_remedy(client: Client, stack: Stack) -> None:
    nowhere = str(stack.folder / "resources" / "nowhere")
    run_id = submit(client, "no model", **{"model.path": nowhere})
    run = ended(client, run_id)
    assert run.status is RunStatus.FAILED
    assert nowhere in (run.status_reason or "")


def test_a_folder_trained_without_a_server_is_imported_once(client: Client, stack: Stack, tmp_path: Path) -> None:
    out = tmp_path / "offline"
    train_one_after_another({out: assignments({"training.steps": 8})})
    answers = []
    for _ in range(2):
        imported = run_here("import", out, "--server", stack.url, "--token-file", stack.folder / "admin-token")
        assert imported.returncode == 0, imported.stderr
        answers.append(json.loads(imported.stdout.splitlines()[-1]))
    assert [answer["is_new"] for answer in answers] == [True, False]
    assert answers[0]["run_id"] == answers[1]["run_id"]
    assert answers[0]["status"] == "succeeded"
    records = all_records(client, answers[0]["run_id"], "step")
    assert [record["step"] for record in records] == list(range(1, 9))
