"""Compute hours of runs, and their cost at the deployment's prices."""

from __future__ import annotations

from typing import NamedTuple

SECONDS_PER_HOUR = 3600.0


class Prices(NamedTuple):
    """Price of an hour; None where the deployment sets none (see `Settings.prices`)."""

    gpu_hour: float | None
    """One hour of one GPU."""
    cpu_hour: float | None
    """One hour of one slot of a machine without GPUs."""
    currency: str
    """ISO 4217 code, such as USD."""


def compute_hours(seconds: float, num_gpus: int) -> float:
    """Hours that `seconds` of an attempt count for: seconds / 3600 · max(1, num_gpus).

    With GPUs these are GPU-hours. A run on the CPU has `num_gpus` 0 and fills one slot: these are slot-hours.
    """
    return seconds / SECONDS_PER_HOUR * max(1, num_gpus)


def hour_price(num_gpus: int, prices: Prices) -> float | None:
    """Price of one compute hour of a run with so many GPUs; None where the deployment sets none."""
    return prices.gpu_hour if num_gpus > 0 else prices.cpu_hour


def cost(hours: float, num_gpus: int, prices: Prices) -> float | None:
    """Cost of compute hours in `prices.currency`: hours · price; None where the deployment sets no price.

    `hours` are those of `compute_hours`, so that the number of GPUs only chooses the price.
    """
    price = hour_price(num_gpus, prices)
    return None if price is None else hours * price
