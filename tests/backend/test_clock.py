"""A clock that is set, and a server that was away, are told from time that passed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from backend.fleet.dispatch.dispatcher import ClockWatch

BEGIN = 1_700_000_000.0


@pytest.mark.parametrize(
    ("passed", "really_passed", "is_broken"),
    [
        (1.0, 1.0, False),
        (10.9, 1.0, False),
        (11.1, 1.0, True),
        (-8.9, 1.0, False),
        (-9.1, 1.0, True),
        (3_600.0, 1.0, True),
        (10.0, 10.0, False),
        (10.1, 10.1, True),
    ],
)
def test_the_clock_is_compared_with_one_that_only_goes_forward(
    passed: float, really_passed: float, is_broken: bool
) -> None:
    watch = ClockWatch(10.0, 5.0)
    assert not watch.is_broken(datetime.fromtimestamp(BEGIN, UTC), 50.0)
    assert watch.is_broken(datetime.fromtimestamp(BEGIN + passed, UTC), 50.0 + really_passed) is is_broken


def test_a_round_may_take_longer_than_a_short_lease() -> None:
    watch = ClockWatch(1.0, 5.0)
    watch.is_broken(datetime.fromtimestamp(BEGIN, UTC), 0.0)
    assert not watch.is_broken(datetime.fromtimestamp(BEGIN + 1.1, UTC), 1.1)
    assert not watch.is_broken(datetime.fromtimestamp(BEGIN + 6.0, UTC), 6.0)
    assert watch.is_broken(datetime.fromtimestamp(BEGIN + 11.1, UTC), 11.1)


def test_it_is_said_once() -> None:
    watch = ClockWatch(10.0, 5.0)
    watch.is_broken(datetime.fromtimestamp(BEGIN, UTC), 0.0)
    assert watch.is_broken(datetime.fromtimestamp(BEGIN + 3_600, UTC), 1.0)
    assert not watch.is_broken(datetime.fromtimestamp(BEGIN + 3_601, UTC), 2.0)
