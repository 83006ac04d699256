"""Compute hours, and their cost at the prices of their time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from backend.prices.hours import HourPrice, Machine, Prices, Use, compute_hours
from backend.runs.usage import Usage

START = datetime(2026, 11, 1, tzinfo=UTC)
GPUS = Machine(8, "NVIDIA H200", "gpu-1")
CPU = Machine(0, None, "box")
GENERAL = (HourPrice("gpu", "", 2.5, None), HourPrice("slot", "", 0.1, None))


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def use(machine: Machine, begin: float, end: float) -> Use:
    return Use(machine, at(begin), at(end))


def prices(*more: HourPrice) -> Prices:
    return Prices("EUR", (*GENERAL, *more))


@pytest.mark.parametrize(
    ("seconds", "gpus", "hours"),
    # 90 minutes on 8 GPUs are 12 GPU-hours; on the CPU an hour is one slot-hour.
    [(5400, 8, 12.0), (3600, 1, 1.0), (3600, 0, 1.0), (0, 4, 0.0)],
)
def test_hours_count_once_for_each_gpu(seconds: float, gpus: int, hours: float) -> None:
    assert compute_hours(seconds, gpus) == hours


def test_the_cost_is_hours_times_the_price_of_their_kind() -> None:
    # 1.5 h · 8 · 2.5 = 30, as the first seed's report gave.
    assert prices().cost(use(GPUS, 0, 1.5)) == 30.0
    assert prices().cost(use(CPU, 0, 1.5)) == pytest.approx(0.15)


def test_a_price_of_a_worker_comes_before_that_of_its_gpus() -> None:
    of_kind = HourPrice("gpu_name", "NVIDIA H200", 3.0, None)
    of_worker = HourPrice("worker", "gpu-1", 4.0, None)
    assert prices(of_kind).at(START, GPUS) == 3.0
    assert prices(of_kind, of_worker).at(START, GPUS) == 4.0
    assert prices(of_kind, of_worker).at(START, GPUS._replace(worker="gpu-2")) == 3.0
    assert prices(of_kind, of_worker).at(START, GPUS._replace(gpu_name="NVIDIA A100", worker="gpu-2")) == 2.5
    assert prices(of_kind, of_worker).at(START, CPU) == 0.1


def test_earlier_hours_keep_the_price_of_their_time() -> None:
    changed = prices(HourPrice("gpu", "", 5.0, at(2)), HourPrice("slot", "", 9.0, at(0)))
    one = Machine(1)
    assert changed.cost(use(one, 0, 2)) == 5.0
    assert changed.cost(use(one, 2, 4)) == 10.0
    # 1 h · 2.5 before the change and 3 h · 5 after it.
    assert changed.cost(use(one, 1, 5)) == 17.5


def test_a_price_that_is_taken_back_gives_way_to_the_general_one() -> None:
    own = (HourPrice("worker", "gpu-1", 4.0, at(1)), HourPrice("worker", "gpu-1", None, at(2)))
    one = GPUS._replace(num_gpus=1)
    # 2.5 + 4 + 2.5.
    assert prices(*own).cost(use(one, 0, 3)) == 9.0


def test_of_two_prices_for_one_moment_the_later_entry_counts() -> None:
    corrected = prices(HourPrice("gpu", "", 7.0, at(1)), HourPrice("gpu", "", 6.0, at(1)))
    assert corrected.at(at(1), GPUS) == 6.0


def test_without_a_price_for_a_part_there_is_no_cost() -> None:
    later = Prices("EUR", [HourPrice("gpu", "", 2.0, at(1))])
    assert later.cost(use(GPUS, 0, 2)) is None
    assert later.cost(use(GPUS._replace(num_gpus=1), 1, 2)) == 2.0
    assert later.cost(use(CPU, 1, 2)) is None
    assert Prices("EUR", [HourPrice("gpu", "", 0.0, None)]).cost(use(GPUS, 0, 1)) == 0.0


def test_a_run_costs_what_its_attempts_do() -> None:
    both = Usage([use(CPU, 0, 1), use(GPUS, 1, 1.5)])
    # 1 slot-hour at 0.1 and 4 GPU-hours at 2.5.
    assert (both.compute_hours, both.num_gpus, both.cost(prices())) == (5.0, 8, 10.1)
    assert both.cost(Prices("EUR", GENERAL[:1])) is None
    assert Usage().cost(prices()) is None
