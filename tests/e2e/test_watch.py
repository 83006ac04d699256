"""`bapo submit` and `bapo watch` beside a run that really trains, while its server is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gates import Gate
from tests.support.stack import NUM_STEPS, PATIENCE_SECONDS, SMALL_RUN, Stack, at_step

pytestmark = pytest.mark.e2e


def test_a_watch_outlasts_the_death_of_the_server(stack: Stack, tmp_path: Path) -> None:
    gate = Gate(stack.folder / "resources" / "watched", 400)
    with stack.client() as client:
        held = {**SMALL_RUN, "task.verifier": gate.register(client)}
    described = tmp_path / "small.json"
    described.write_text(json.dumps({"recipe": "countdown-demo", "name": "watched", **held}))
    token = (stack.folder / "admin-token").read_text().strip()
    environment = {**os.environ, "BAPO_SERVER": stack.url, "BAPO_TOKEN": token}
    with subprocess.Popen(
        [sys.executable, "-m", "bapo", "submit", str(described), "--key", "once", "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as watching:
        assert watching.stdout is not None
        run_id = watching.stdout.readline().strip()
        with stack.client() as client:
            at_step(client, run_id, 3)
            gate.wait_until_reached()
            stack.service("backend").kill()
            gate.open()
            said, errors = watching.communicate(timeout=PATIENCE_SECONDS)
            run = client.wait(run_id)
    assert watching.returncode == 0, errors
    lines = said.splitlines()
    assert lines[-1] == f"{run_id}: succeeded"
    assert any(f"step {NUM_STEPS}/{NUM_STEPS}; reward 0." in line and " of 12; CD-34 avg@2 " in line for line in lines)
    assert (run.status, run.attempt) == ("succeeded", 1)
    again = subprocess.run(
        [sys.executable, "-m", "bapo", "submit", str(described), "--key", "once", "--wait"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert (again.returncode, again.stdout.strip()) == (0, run_id)
