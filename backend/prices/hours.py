"""Compute hours of runs, and their cost at the prices of their time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from bapo.api.prices import PriceScope

SECONDS_PER_HOUR = 3600.0


class Machine(NamedTuple):
    """What decides the price of an attempt's hours."""

    num_gpus: int = 0
    """0 on the CPU."""
    gpu_name: str | None = None
    """Such as `NVIDIA H200`; None on the CPU, and where it is not known."""
    worker: str | None = None

    @property
    def scopes(self) -> Sequence[tuple[PriceScope, str]]:
        """The names under which its price may stand, the most particular first."""
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
    """Of the kind of GPU or the worker; empty for the general prices."""
    price: float | None
    """None: from then on the more general price applies again."""
    since: datetime | None
    """None: from the beginning."""


class Prices(NamedTuple):
    """All prices, in the order in which they took effect."""

    currency: str
    """ISO 4217 code, such as USD."""
    entries: Sequence[HourPrice] = ()

    def at(self, moment: datetime, machine: Machine) -> float | None:
        """Price of one compute hour of the machine at that moment; None where there is none."""
        for scope, name in machine.scopes:
            own = self.own(moment, scope, name)
            if own is not None:
                return own.price
        return None

    def own(self, moment: datetime, scope: PriceScope, name: str) -> HourPrice | None:
        """Return what stands under this name at that moment; None where nothing does, or no price any more."""
        holding = [
            each
            for each in self.entries
            if (each.scope, each.name) == (scope, name) and (each.since is None or each.since <= moment)
        ]
        return holding[-1] if holding and holding[-1].price is not None else None

    def cost(self, use: Use) -> float | None:
        """Cost of an attempt: the sum of hours · price over the times between changes of its price.

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
    """Hours that `seconds` of an attempt count for: seconds / 3600 · max(1, num_gpus).

    With GPUs these are GPU-hours. A run on the CPU has `num_gpus` 0 and fills one slot: these are slot-hours.
    """
    return seconds / SECONDS_PER_HOUR * max(1, num_gpus)
