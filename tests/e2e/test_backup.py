"""A backup made while a run trains becomes a server of its own, on which the run goes on and ends as it should."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from bapo.api.runs import RunStatus
from tests.command_line import run_here
from tests.stack import Stack, all_records, at_step, ended, essence, submit

pytestmark = pytest.mark.timeout(400)
NUM_STEPS = 24


def test_a_run_goes_on_from_a_backup(make_stack: Callable[[], Stack], tmp_path: Path) -> None:
    original, copy = make_stack(), make_stack()
    file = tmp_path / "backup.tar"
    original.start("--no-demo")
    with original.client() as client:
        done = submit(client, "done before", **{"training.steps": 4})
        history = ended(client, done)
        run_id = submit(client, "under way", **{"training.steps": NUM_STEPS, "training.checkpoint_interval": 2})
        at_step(client, run_id, 3)
        made = run_here("backup", file, "--data", original.folder)
        assert made.returncode == 0, made.stderr
        assert "2 runs" in made.stdout
        before = all_records(client, done, "step")
        early = all_records(client, run_id, "step")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert original.stop() == 0

    # Into a folder in which something is: refused, and nothing touched.
    refused = run_here("restore", file, "--data", original.folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is not empty" in refused.stderr

    restored = run_here("restore", file, "--data", copy.folder)
    assert restored.returncode == 0, restored.stderr
    copy.start("--no-demo", BAPO_LEASE_SECONDS="2")
    with copy.client() as client:
        # Its folder is measured anew, and more has happened on the server since.
        changing = {"host", "storage_bytes", "last_event_id"}
        assert client.run(done).model_dump(exclude=changing) == history.model_dump(exclude=changing)
        assert all_records(client, done, "step") == before
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
