"""The end of a machine, as people and batch systems write it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from worker.machine_end import machine_end

FAR = datetime(2100, 1, 2, 18, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2100-01-02T19:00:00+01:00", "2100-01-02 18:00:00Z", f"{FAR.timestamp():.0f}"])
def test_a_time_is_read(text: str) -> None:
    assert machine_end(text) == FAR


@pytest.mark.parametrize(
    ("text", "duration"),
    [("1d12h", timedelta(hours=36)), ("90m", timedelta(minutes=90)), ("1h30m5s", timedelta(seconds=5405))],
)
def test_a_duration_counts_from_now(text: str, duration: timedelta) -> None:
    before = datetime.now(UTC)
    assert before + duration <= machine_end(text) <= datetime.now(UTC) + duration


@pytest.mark.parametrize("text", ["", "soon", "90", "-5m", "1.5h", "9" * 30, "9" * 20 + "d"])
def test_what_names_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="or a duration such as 11h30m"):
        machine_end(text)


@pytest.mark.parametrize("text", ["2001-09-10T00:00:00Z", "1000000000", "0s"])
def test_a_moment_that_is_over_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="give a moment to come"):
        machine_end(text)
