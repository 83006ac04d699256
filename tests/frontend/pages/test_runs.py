"""Rows, columns and filters of the run list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bapo.api.runs import RunFilters, RunQuery, RunStatus, RunSummary
from bapo.client import ApiError
from bapo.figures.theme import STATUS_COLOURS
from frontend.pages.runs.columns import COLUMNS, definition
from frontend.pages.runs.filters import CONTROLS, PRESETS
from frontend.pages.runs.rows import parsed, run_row

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
        tags=("a", "b"),
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
        eval_best=0.391,
        eta_seconds=None,
        status_reason=None,
    )
    return run.model_copy(update=changes)


def test_a_row_reads_as_text() -> None:
    row = run_row(_run(), NOW)
    assert row["progress"] == 0.2
    assert (row["progress_text"], row["reward_mean_text"], row["num_rollouts_text"]) == (
        "30 / 150",
        "41.2\u202f%",
        "12.3k",
    )
    # 38.0 − 20.6 = 17.4 points.
    assert (row["eval_latest_text"], row["eval_change_text"]) == ("20.6 → 38.0\u202f%", "+17.4")
    assert row["eval_best_text"] == "39.1\u202f%"
    assert (row["started_at_text"], row["duration_text"], row["tags_text"]) == ("3 minutes ago", "3 m 00 s", "a, b")
    assert row["started_at"] == "2026-09-01T11:57:00+00:00"


def test_a_mean_reward_above_1_is_no_share() -> None:
    assert run_row(_run(reward_mean=1.506), NOW)["reward_mean_text"] == "1.506"


def test_a_run_that_never_began_has_gaps() -> None:
    changes = {"started_at": None, "reward_mean": None, "eval_base": None, "eval_latest": None, "eval_best": None}
    row = run_row(_run(**changes), NOW)
    gaps = ("started_at", "duration", "reward_mean", "eval_latest", "eval_best", "compute_hours", "cost", "group")
    assert [row[f"{name}_text"] for name in gaps] == ["–"] * len(gaps)
    assert (row["eval_change"], row["eval_change_text"], row["started_at"]) == (None, "", None)


def test_the_base_evaluation_alone_is_no_change() -> None:
    assert run_row(_run(eval_latest=0.206), NOW)["eval_change_text"] == ""


def test_an_ended_run_keeps_its_duration() -> None:
    run = _run(status=RunStatus.SUCCEEDED, finished_at=NOW - timedelta(minutes=1))
    assert run_row(run, NOW)["duration_text"] == "2 m 00 s"


@pytest.mark.parametrize(
    ("hours", "num_gpus", "text"),
    [
        (0.0, 1, "–"),
        (0.0121, 0, "0.012 slot-h"),
        (0.42, 1, "0.42 GPU-h"),
        (12.34, 8, "12.3 GPU-h"),
        (1234.5, 8, "1,234 GPU-h"),
    ],
)
def test_hours_say_what_they_are_of(hours: float, num_gpus: int, text: str) -> None:
    assert run_row(_run(compute_hours=hours, num_gpus=num_gpus), NOW)["compute_hours_text"] == text


@pytest.mark.parametrize(
    ("cost", "text"), [(0.5, "0.50\u202fEUR"), (999.99, "999.99\u202fEUR"), (1234.5, "1,234\u202fEUR")]
)
def test_a_cost_names_its_currency(cost: float, text: str) -> None:
    assert run_row(_run(cost=cost, currency="EUR"), NOW)["cost_text"] == text


def test_every_column_has_its_text_in_the_row() -> None:
    row = run_row(_run(), NOW)
    assert {f"{column.name}_text" for column in COLUMNS} <= row.keys()
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)
    assert definition(COLUMNS[0])["colId"] == COLUMNS[0].name


def test_every_filter_has_a_control() -> None:
    # Conditions are added one by one, in fields of their own.
    assert CONTROLS.keys() | {"search", "where"} == RunFilters.model_fields.keys()


@pytest.mark.parametrize("status", list(RunStatus))
def test_every_state_has_a_colour_and_a_quick_choice(status: RunStatus) -> None:
    assert STATUS_COLOURS[status]
    found = [name for name, states in PRESETS.items() if status in states]
    assert len(found) == (0 if status is RunStatus.DRAFT else 1) or status is RunStatus.LOST


def test_an_address_becomes_a_query() -> None:
    query = parsed({"status": ["failed"], "starred": "true", "min_best": "0.5", "offset": "100", "limit": "50"})
    assert query == RunQuery(status=[RunStatus.FAILED], starred=True, min_best=0.5, offset=100, limit=50)


@pytest.mark.parametrize(
    ("given", "field", "remedy"),
    [
        ({"limit": "501"}, "limit", "must be at most 500"),
        ({"min_best": "2"}, "min_best", "must be at most 1"),
        ({"x": "1"}, "x", "no such field: remove it"),
        ({"status": ["no"]}, "status.0", "must be 'draft', "),
    ],
)
def test_a_wrong_address_is_refused_by_name(given: dict[str, Any], field: str, remedy: str) -> None:
    with pytest.raises(ApiError) as refusal:
        parsed(given)
    assert (refusal.value.status, refusal.value.body.field) == (422, field)
    assert refusal.value.body.remedy.startswith(remedy)


@pytest.mark.parametrize("width", [1440, 1530, 1620, 1730, 1860, 1950])
def test_names_have_room_on_a_screen_of_the_usual_width(width: int) -> None:
    shown = [column for column in COLUMNS if column.needed_width is not None and column.needed_width <= width]
    beside = 229 + 40  # The navigation with its margins, and the box that chooses a run.
    assert width - beside - sum(column.width for column in shown if column.name != "name") >= 200
