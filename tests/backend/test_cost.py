"""Compute hours and what they cost."""

from __future__ import annotations

import pytest

from backend.kit.prices import Prices, compute_hours, cost
from backend.kit.settings import Settings

PRICES = Prices(gpu_hour=2.5, cpu_hour=0.1, currency="EUR")


@pytest.mark.parametrize(
    ("seconds", "gpus", "hours"),
    # 5,400 s are 1.5 h of one slot or one GPU, and 12 h of eight.
    [(5_400, 0, 1.5), (5_400, 1, 1.5), (5_400, 2, 3.0), (5_400, 8, 12.0), (0, 8, 0.0)],
)
def test_an_hour_counts_once_per_gpu_and_once_on_the_cpu(seconds: float, gpus: int, hours: float) -> None:
    assert compute_hours(seconds, gpus) == hours


def test_the_cost_is_hours_times_the_price_of_their_kind() -> None:
    # 12 GPU-hours at 2.50 and 1.5 slot-hours at 0.10.
    assert cost(12.0, 8, PRICES) == 30.0
    assert cost(1.5, 0, PRICES) == pytest.approx(0.15)


def test_without_a_price_there_is_no_cost() -> None:
    assert cost(1.0, 1, PRICES._replace(gpu_hour=None)) is None
    assert cost(1.0, 0, PRICES._replace(gpu_hour=None)) == 0.1
    assert cost(1.0, 0, PRICES._replace(cpu_hour=None)) is None
    assert cost(1.0, 1, PRICES._replace(gpu_hour=0.0)) == 0.0


def test_prices_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = {"DATABASE_URL": "postgresql+psycopg://nowhere/nothing", "BROKER_URL": "redis://nowhere"}
    for name, value in {**addresses, "RUNS_DIR": "/r", "GPU_HOUR_PRICE": "2.5"}.items():
        monkeypatch.setenv(f"BAPO_{name}", value)
    for name in ("ADMIN_TOKEN_FILE", "WORKER_TOKEN_FILE"):
        monkeypatch.setenv(f"BAPO_{name}", "/t")
    assert Settings().prices == Prices(2.5, None, "USD")
