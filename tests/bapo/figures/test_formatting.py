"""Numbers as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bapo.figures import formatting
from bapo.figures.formatting import THIN_SPACE

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0"),
        (999, "999"),
        (9_999, "9,999"),
        (9_999.5, "10.0k"),
        (12_345, "12.3k"),
        (99_949, "99.9k"),
        (99_950, "100k"),
        (123_456, "123k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (1_921_000, "1.92M"),
        (12_345_678, "12.3M"),
        (1_500_000_000, "1.50G"),
    ],
)
def test_count(value: float | None, text: str) -> None:
    assert formatting.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.4123, f"41.2{THIN_SPACE}%"), (0, f"0.0{THIN_SPACE}%"), (1, f"100.0{THIN_SPACE}%")],
)
def test_percent(value: float | None, text: str) -> None:
    assert formatting.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, f"0.0{THIN_SPACE}%"), (1, f"100.0{THIN_SPACE}%"), (1.5064, "1.506"), (-0.25, "-0.250")],
)
def test_a_mean_reward_is_a_share_only_where_it_can_be_one(value: float | None, text: str) -> None:
    assert formatting.reward(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0823, f"+8.2{THIN_SPACE}pts"),
        (-0.0823, f"−8.2{THIN_SPACE}pts"),
        (0.0004, f"±0.0{THIN_SPACE}pts"),
    ],
)
def test_points(value: float | None, text: str) -> None:
    assert formatting.points(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0.4567, "0.457"), (0.0, "0.000"), (0.0001, "1.0e-04"), (0.0005, "0.001")]
)
def test_decimal(value: float | None, text: str) -> None:
    assert formatting.decimal(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (-3, "0 s"),
        (42, "42 s"),
        (59.6, "1 m 00 s"),
        (185, "3 m 05 s"),
        (3_599.6, "1 h 00 m"),
        (4_920, "1 h 22 m"),
        (187_200, "2 d 04 h"),
    ],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert formatting.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "just now"),
        (-5, "just now"),
        (12, "12 seconds ago"),
        (60, "1 minute ago"),
        (180, "3 minutes ago"),
        (7_200, "2 hours ago"),
        (86_400, "1 day ago"),
    ],
)
def test_ago(seconds: float, text: str) -> None:
    assert formatting.ago(NOW - timedelta(seconds=seconds), NOW) == text
    assert formatting.ago(None, NOW) == "–"


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "now"), (5, "now"), (12, "in 12 seconds"), (3_600, "in 1 hour"), (86_399, "in 23 hours")]
)
def test_until(seconds: float, text: str) -> None:
    assert formatting.until(NOW + timedelta(seconds=seconds), NOW) == text


def test_exact_time_is_in_utc() -> None:
    assert formatting.exact_time(NOW) == "2026-09-01 12:00:00 UTC"
    assert formatting.exact_time(None) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (0.25, "0.25"),
        (3e-4, "0.0003"),
        ("1/3", "1/3"),
        ([0.125, "1/3"], "0.125, 1/3"),
        (8, "8"),
    ],
)
def test_config_value(value: object, text: str) -> None:
    assert formatting.config_value(value) == text
