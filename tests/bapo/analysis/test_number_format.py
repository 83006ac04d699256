"""Shares and intervals as people read them."""

from __future__ import annotations

import pytest

from bapo.analysis.number_format import bounds_text, percent, points_text, share, share_interval, within_share
from bapo.analysis.result import MeanEstimate


def test_bounds_that_read_the_same_are_no_interval() -> None:
    assert bounds_text(0.291, 0.302, share) == "29.1 to 30.2"
    # 0.29104 and 0.29144 both read 29.1.
    assert bounds_text(0.29104, 0.29144, share) == ""
    assert bounds_text(None, None, share) == ""
    assert bounds_text(0.9997, 1.0, percent) == ""


def test_a_share_is_within_0_and_1() -> None:
    assert [within_share(value) for value in (-0.2, 0.4, 1.3)] == ["0.0", "40.0", "100.0"]
    assert share_interval(MeanEstimate(value=0.95, low=0.85, high=1.05, n=2)) == " [85.0, 100.0]"


def test_a_point_is_no_interval() -> None:
    found = MeanEstimate(value=0.291, low=0.291, high=0.291 + 1e-13, n=2)
    assert (found.low, found.high, share_interval(found), points_text(found)) == (None, None, "", "+29.1 points")
    assert MeanEstimate(value=0.5, low=0.49, high=0.51, n=2).low == pytest.approx(0.49)
