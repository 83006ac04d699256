"""Reads the values of a metric in order, each once, and finds where an alert opens and where it is resolved.

What a rule must remember between two values is one JSON object, so that reading resumes after a restart where it
stopped. The same reading serves the preview, over all values of a run at once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import Any, Literal, NamedTuple, Protocol

from backend.records.curves import smoothing_of
from bapo.api.alerts import (
    AlertCondition,
    EmptyBatchesCondition,
    EntropyCondition,
    FillRateCondition,
    MetricCondition,
    RatioCondition,
)

FEWEST_QUIET_VALUES = 3
"""An alert is resolved after as many values without a finding as opened it, and after at least so many."""
LEVEL_STEPS = 5
"""The level of the entropy is the median of so many steps."""
RECOVERY = 1.1
"""A level that was too low must rise by this factor above the limit."""

Memory = dict[str, Any]


class Finding(NamedTuple):
    """An alert opens, or is resolved."""

    step: int
    change: Literal["opened", "resolved"]
    value: float
    before: float | None = None
    """The level that a fall is measured from."""


class Watch(Protocol):
    """Reads one metric."""

    @property
    def key(self) -> str:
        """The metric."""

    def read(self, memory: Memory, step: int, value: float) -> Finding | None:
        """Take the next value in, and remember."""


def watch_of(condition: AlertCondition) -> Watch | None:
    """Return the watch for this condition; None if it reads no metric."""
    match condition:
        case EntropyCondition():
            return EntropyWatch(condition)
        case EmptyBatchesCondition():
            return StreakWatch("bapo/batch/batch", lambda size: size == 0, condition.steps)
        case FillRateCondition():
            below = condition.below
            return StreakWatch("bapo/batch/fill_rate", lambda rate: rate < below, condition.steps)
        case RatioCondition():
            low, high = condition.low, condition.high
            return StreakWatch("bapo/ratio/mean", lambda ratio: not low <= ratio <= high, condition.steps)
        case MetricCondition():
            compare, threshold = _COMPARISONS[condition.comparison], condition.threshold
            return StreakWatch(
                condition.key, lambda value: compare(value, threshold), condition.steps, condition.smoothing
            )
        case _:
            return None


_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def read_all(watch: Watch, memory: Memory, values: Iterable[tuple[int, float]]) -> list[Finding]:
    """Read several values, by step."""
    found = (watch.read(memory, step, value) for step, value in values)
    return [finding for finding in found if finding is not None]


class StreakWatch:
    """Opens after n values in a row that meet a condition; resolved after as many in a row that do not."""

    def __init__(self, key: str, is_met: Callable[[float], bool], steps: int, smoothing: str | None = None) -> None:
        self._key = key
        self._is_met = is_met
        self._steps = steps
        self._smoothing = None if smoothing is None else smoothing_of(smoothing)

    @property
    def key(self) -> str:
        """The metric."""
        return self._key

    def read(self, memory: Memory, step: int, value: float) -> Finding | None:
        """Take the next value in."""
        smooth = self._smoothed(memory, value)
        if smooth is None:
            return None
        is_open = memory.get("open", False)
        if self._is_met(smooth) is is_open:
            memory["streak"] = 0
            return None
        memory["streak"] = memory.get("streak", 0) + 1
        if memory["streak"] < (max(self._steps, FEWEST_QUIET_VALUES) if is_open else self._steps):
            return None
        memory |= {"open": not is_open, "streak": 0}
        return Finding(step, "resolved" if is_open else "opened", smooth)

    def _smoothed(self, memory: Memory, value: float) -> float | None:
        """Return the mean that is compared; None until there are as many values as it is a mean of."""
        if self._smoothing is None:
            return value
        kind, span = self._smoothing
        if kind == "mean":
            memory["values"] = [*memory.get("values", ()), value][-span:]
            return sum(memory["values"]) / span if len(memory["values"]) == span else None
        keep = 1 - 2 / (span + 1)
        memory["total"] = memory.get("total", 0.0) * keep + value
        memory["weight"] = memory.get("weight", 0.0) * keep + 1.0
        memory["count"] = min(span, memory.get("count", 0) + 1)
        return memory["total"] / memory["weight"] if memory["count"] == span else None


class EntropyWatch:
    """Opens where the level is low or fell; resolved where it is clearly higher than that again.

    level(s) = median of the entropies of steps s-4..s; fall(s) = 1 - level(s) / level(s - n). A fall is over when half
    of what was lost is back.
    """

    key = "actor/entropy"

    def __init__(self, condition: EntropyCondition) -> None:
        self._below = condition.below
        self._share = None if condition.fall_percent is None else condition.fall_percent / 100
        self._within = condition.within_steps

    def read(self, memory: Memory, step: int, value: float) -> Finding | None:
        """Take the next value in."""
        values = [*memory.get("values", ()), value][-(self._within + LEVEL_STEPS) :]
        memory["values"] = values
        if len(values) < LEVEL_STEPS:
            return None
        level = median(values[-LEVEL_STEPS:])
        if memory.get("open", False):
            if level < memory["recovered"]:
                return None
            memory["open"] = False
            return Finding(step, "resolved", level)
        is_low = self._below is not None and level < self._below
        before = self._fallen_from(values, level)
        if not is_low and before is None:
            return None
        recovered = [RECOVERY * self._below] if is_low and self._below is not None else []
        if before is not None and self._share is not None:
            recovered.append(before * (1 - self._share / 2))
        memory |= {"open": True, "recovered": max(recovered)}
        return Finding(step, "opened", level, before)

    def _fallen_from(self, values: list[float], level: float) -> float | None:
        if self._share is None or len(values) < self._within + LEVEL_STEPS:
            return None
        before = median(values[:LEVEL_STEPS])
        return before if before > 0 and level < before * (1 - self._share) else None
