"""The list of the checkpoints that a run keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.runs.checkpoints.repository import Written
from backend.runs.checkpoints.service import remaining
from bapo.api.runs import RunCreate
from bapo.client import ApiError, Client
from bapo.records import EventRecord
from bapo.run.checkpoint import write_checkpoint
from tests.support.fake_worker import FakeWorker


@pytest.mark.parametrize(
    ("steps", "keep", "best", "left"),
    [
        ([5], 2, None, [5]),
        ([5, 10], 2, None, [5, 10]),
        # The third takes the first away.
        ([5, 10, 15], 2, None, [10, 15]),
        # A second attempt went back to 10 and wrote 12: 15 is of steps that are to come.
        ([5, 10, 15, 12], 3, None, [5, 10, 12]),
        # The same step again replaces it.
        ([5, 10, 10], 2, None, [5, 10]),
        ([5, 10, 5], 2, None, [5]),
        # The best one stays.
        ([5, 10, 15, 20], 2, 5, [5, 15, 20]),
        ([5, 10, 15], 2, 10, [10, 15]),
    ],
)
def test_as_many_are_left_as_on_disk(
    steps: list[int], keep: int, best: int | None, left: list[int], tmp_path: Path
) -> None:
    for step in steps:
        write_checkpoint(tmp_path, step, lambda folder: None, keep=keep, best=best)
    on_disk = sorted(int(path.name.removeprefix("step-")) for path in (tmp_path / "checkpoints").iterdir())
    assert on_disk == left
    assert [
        each.step for each in remaining([Written(1, step, {"data": {"best": best}}) for step in steps], keep)
    ] == left


def _checkpoint(step: int) -> EventRecord:
    return EventRecord(
        attempt=1,
        step=step,
        event="checkpoint",
        message="written",
        data={"checkpoint": f"step-{step:06d}"},
        timing={"unix_time": 1_000_000.0 + step},
    )


def test_a_run_lists_its_checkpoints_newest_first(admin: Client, worker: FakeWorker) -> None:
    body = RunCreate(name="kept", recipe="countdown-demo", changes={"training.keep_checkpoints": 2})
    run = admin.create_run(body)
    assert admin.checkpoints(run.id).items == []
    claim = worker.begin(run)
    worker.upload(claim, [_checkpoint(step) for step in (5, 10, 15)])
    page = admin.checkpoints(run.id)
    assert [(each.step, each.name) for each in page.items] == [(15, "step-000015"), (10, "step-000010")]
    assert page.host == "box"
    assert page.items[0].written_at is not None
    assert page.items[0].written_at.timestamp() == 1_000_015.0


def test_a_run_that_is_not_there_has_none(admin: Client) -> None:
    with pytest.raises(ApiError, match="not_found"):
        admin.checkpoints("nothing")
