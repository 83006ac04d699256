"""Compute hours of runs, and their cost at the prices of their time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from bapo.api.prices import PriceScope

SECONDS_PER_HOUR = 3600.0


class Machine(NamedTuple):
    """Properties of a machine that decide the price of an attempt's hours."""

    num_gpus: int = 0
    """0 on the CPU."""
    gpu_name: str | None = None
    """GPU, such as `NVIDIA H200`; `None` on the CPU, and if it is unknown."""
    worker: str | None = None

    @property
    def scopes(self) -> Sequence[tuple[PriceScope, str]]:
        """Scopes and names under which its price may be set, most specific first."""
        general: PriceScope = "gpu" if self.num_gpus else "slot"
        by_worker: list[tuple[PriceScope, str]] = [("worker", self.worker)] if self.worker else []
        by_gpu: list[tuple[PriceScope, str]] = [("gpu_name", self.gpu_name)] if self.gpu_name else []
        return [*by_worker, *by_gpu, (general, "")]


class Use(NamedTuple):
    """The time that one attempt held a machine."""

    machine: Machine
    begin: datetime
    end: datetime


class HourPrice(NamedTuple):
    """The price of one compute hour from a moment on."""

    scope: PriceScope
    name: str
    """Kind of GPU or name of the worker; empty for the general prices."""
    price: float | None
    """Price per hour; `None` if the more general price applies from then on."""
    since: datetime | None
    """Start of the price; `None` for the beginning."""


class Prices(NamedTuple):
    """All prices, in the order in which they took effect."""

    currency: str
    """ISO 4217 code, such as USD."""
    entries: Sequence[HourPrice] = ()

    def at(self, moment: datetime, machine: Machine) -> float | None:
        """Return the price of one compute hour of the machine at that moment; `None` if there is none."""
        for scope, name in machine.scopes:
            own = self.own(moment, scope, name)
            if own is not None:
                return own.price
        return None

    def own(self, moment: datetime, scope: PriceScope, name: str) -> HourPrice | None:
        """Return the price under this name at that moment; `None` if there is none, or it was removed."""
        holding = [
            each
            for each in self.entries
            if (each.scope, each.name) == (scope, name) and (each.since is None or each.since <= moment)
        ]
        return holding[-1] if holding and holding[-1].price is not None else None

    def cost(self, use: Use) -> float | None:
        """Return the cost of an attempt: the sum of hours · price over the times between changes of its price.

        None where there is no price for a part of it.
        """
        scopes = use.machine.scopes
        changes = {
            each.since
            for each in self.entries
            if each.since is not None and use.begin < each.since < use.end and (each.scope, each.name) in scopes
        }
        moments = [use.begin, *sorted(changes), use.end]
        total = 0.0
        for begin, end in pairwise(moments):
            price = self.at(begin, use.machine)
            if price is None:
                return None
            total += price * compute_hours((end - begin).total_seconds(), use.machine.num_gpus)
        return total


def compute_hours(seconds: float, num_gpus: int) -> float:
    """Return the hours that `seconds` of an attempt count for: seconds / 3600 · max(1, num_gpus).

    With GPUs these are GPU-hours. A run on the CPU has `num_gpus` 0 and fills one slot: these are slot-hours.
    """
    return seconds / SECONDS_PER_HOUR * max(1, num_gpus)
