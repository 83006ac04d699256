"""A backup made while a run trains becomes another server, on which the run continues and ends as it should."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bapo.analysis.number_format import counted
from bapo.api.runs import RunStatus
from bapo.run.run_folder import RESTORING_FILE
from tests.support.command_line import run_here
from tests.support.gates import Gate
from tests.support.stack import Stack, all_records, at_step, ended, essence, submit

pytestmark = pytest.mark.e2e
NUM_STEPS = 24


KILLED_AFTER = """
import os, signal, sys
from pathlib import Path
from bapo.deploy.backup import archive, database, embedded
from bapo.deploy.up import folder

*where, name = sys.argv[1].split(".")
place = globals()[where[0]]
for part in where[1:]:
    place = getattr(place, part)
done = getattr(place, name)

def die(*arguments):
    done(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(place, name, die)
embedded.restore_folder(Path(sys.argv[3]), Path(sys.argv[2]))
"""
"""Restores a file into a folder, and is killed right after one of its functions."""


def _is_same(copy: Stack, original: Stack) -> bool:
    """Whether both have the same administrator's token."""
    return (copy.folder / "admin-token").read_bytes() == (original.folder / "admin-token").read_bytes()


def test_a_run_continues_from_a_backup_made_while_it_trains(
    stack: Stack, make_stack: Callable[[], Stack], tmp_path: Path
) -> None:
    copy = make_stack()
    file = tmp_path / "backup.tar"
    gate = Gate(stack.folder / "resources" / "under-way", 400)
    changes = {"training.steps": NUM_STEPS, "training.checkpoint_interval": 2}
    with stack.client() as client:
        run_id = submit(client, "under way", **changes, **{"task.verifier": gate.register(client)})
        gate.wait_until_reached()
        at_step(client, run_id, 3)
        made = run_here("backup", file, "--data", stack.folder)
        assert made.returncode == 0, made.stderr
        assert counted(client.runs().total, "run") in made.stdout
        early = all_records(client, run_id, "step")
        gate.open()
        client.stop(run_id, "now")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    # Into a folder in which something is: refused, and nothing touched.
    refused = run_here("restore", file, "--data", stack.folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is not empty" in refused.stderr

    # Killed wherever it is, it leaves a folder that no server starts with; the next restore begins again.
    for phase in ("folder.DataFolder.prepare", "archive.extract", "database.restore", "embedded._migrate"):
        killed = subprocess.run([sys.executable, "-c", KILLED_AFTER, phase, file, copy.folder], check=False)
        assert killed.returncode == -signal.SIGKILL, phase
        for command in (("up", "--data", copy.folder), ("backup", tmp_path / "other.tar", "--data", copy.folder)):
            refused = run_here(*command)
            assert (refused.returncode, refused.stdout) == (1, ""), command
            assert "was cut short: run `bapo restore` again" in refused.stderr
    assert not (copy.folder / "admin-token").exists() or _is_same(copy, stack)

    restored = run_here("restore", file, "--data", copy.folder)
    assert restored.returncode == 0, restored.stderr
    assert not (copy.folder / "runs" / RESTORING_FILE).exists()
    assert _is_same(copy, stack)
    # The run is taken back when its lease is over; a lease of fewer seconds could be lost once more on a busy machine.
    copy.start("--no-demo", BAPO_LEASE_SECONDS="30", BAPO_RESOURCE_ROOTS=str(stack.folder / "resources"))
    with copy.client() as client:
        found = ended(client, run_id)
        assert found.status is RunStatus.SUCCEEDED, found.status_reason
        assert found.attempt == 2
        steps = all_records(client, run_id, "step")
    assert [record["step"] for record in steps] == list(range(1, NUM_STEPS + 1))
    assert essence(steps[: len(early)]) == essence(early)
    assert copy.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("backup", "b.tar", "--data", "nothing"), "is not a data folder"),
        (("restore", "missing.tar", "--data", "new"), "cannot be read as a backup"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_here(*arguments)
    assert (result.returncode, result.stdout) == (1, "")
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
