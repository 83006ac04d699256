"""Rows of the run list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bapo.api import RunStatus, RunSummary
from frontend.pages.runs import COLUMNS, FILTERS, run_row
from frontend.theme import STATUS_COLOURS

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


def _run(**changes: Any) -> RunSummary:
    run = RunSummary(
        id="r",
        name="n",
        status=RunStatus.RUNNING,
        method="bapo",
        recipe=None,
        step=30,
        num_steps=150,
        attempt=1,
        tags=(),
        group=None,
        owner="ada",
        parent_id=None,
        created_at=NOW - timedelta(hours=1),
        started_at=NOW - timedelta(minutes=3),
        finished_at=None,
        num_rollouts=12_345,
        reward_mean=0.412,
        eval_name="CD-34 avg@8",
        eval_base=0.206,
        eval_latest=0.38,
        eta_seconds=None,
        status_reason=None,
    )
    return run.model_copy(update=changes)


def test_a_row_sorts_by_numbers_and_reads_as_text() -> None:
    row = run_row(_run(), NOW)
    assert row["progress"] == 0.2
    assert (row["progress_text"], row["reward_text"], row["rollouts_text"]) == ("30 / 150", "41.2\u202f%", "12.3k")
    # 38.0 − 20.6 = 17.4 points.
    assert (row["eval_text"], row["eval_change_text"]) == ("20.6 → 38.0\u202f%", "+17.4")
    assert (row["started_text"], row["duration_text"], row["duration"]) == ("3 minutes ago", "3 m 00 s", 180.0)


def test_a_run_that_never_began_has_gaps() -> None:
    changes = {"started_at": None, "reward_mean": None, "eval_base": None, "eval_latest": None, "step": 0}
    row = run_row(_run(**changes), NOW)
    assert [row[name] for name in ("started_text", "duration_text", "reward_text", "eval_text")] == ["–"] * 4
    assert (row["eval_change"], row["eval_change_text"], row["duration"]) == (None, "", None)


def test_the_base_evaluation_alone_is_no_change() -> None:
    assert run_row(_run(eval_latest=0.206), NOW)["eval_change_text"] == ""


def test_an_ended_run_keeps_its_duration() -> None:
    run = _run(status=RunStatus.SUCCEEDED, finished_at=NOW - timedelta(minutes=1))
    assert run_row(run, NOW)["duration_text"] == "2 m 00 s"


def test_columns_show_fields_of_the_rows() -> None:
    row = run_row(_run(), NOW)
    assert {column["field"] for column in COLUMNS} <= row.keys()


@pytest.mark.parametrize("status", list(RunStatus))
def test_every_state_has_a_colour_and_a_filter(status: RunStatus) -> None:
    assert STATUS_COLOURS[status]
    found = [name for name, states in FILTERS.items() if status in states]
    assert len(found) == (0 if status is RunStatus.DRAFT else 1) or status is RunStatus.LOST
