"""Savings of a method as a sentence, for pages, the terminal and reports."""

from __future__ import annotations

from typing import NamedTuple

from bapo.analysis.number_format import THIN_SPACE, counted, percent, share
from bapo.analysis.result import Savings

SAVINGS_NOTE = (
    "Means over the runs of a group, in training steps alone; in brackets a 95 % bootstrap interval over seeds, by "
    "pairs where both have the same."
)


class Side(NamedTuple):
    """Runs of one method."""

    label: str
    num_reached: int
    """Number of runs that reached the accuracy."""
    num_runs: int


def savings_text(
    target: str, ours: Side, baseline: Side, hours: Savings | None, cost: Savings | None, currency: str
) -> str:
    """Say "BAPO reached 40 % after 1.20 h (3.10 USD), GRPO after 1.90 h (4.90 USD): saved 36 % [12, 55].", for example.

    Hours are compute hours in training steps, means over the runs, and so is their cost. The share is that of the cost
    where prices are known, else of the hours.
    """
    if ours.num_reached < ours.num_runs:
        return f"{_reached(ours, target)}: no saving can be given."
    saved = cost or hours
    if saved is None or hours is None:
        why = f"the compute hours of some runs are not known, or {baseline.label} needed none"
        return f"{ours.label}: no saving can be given, because {why}."
    spent = f"{ours.label} reached {target} after {_spent(hours.spent, None if cost is None else cost.spent, currency)}"
    theirs = _spent(hours.baseline, None if cost is None else cost.baseline, currency)
    if saved.is_least:
        return (
            f"{spent}; {_reached(baseline, 'it')}, after {theirs}: saved at least {percent(saved.value, 0)}, without "
            "an interval."
        )
    return f"{spent}, {baseline.label} after {theirs}: {_share(saved)}."


def _reached(side: Side, target: str) -> str:
    if not side.num_reached:
        return f"{side.label} did not reach {target}"
    return f"{side.num_reached:,} of {counted(side.num_runs, 'run')} of {side.label} reached {target}"


def saved_share(saved: Savings | None) -> str:
    """Return a text such as "36 % [12, 55]" or "at least 36 %"; empty if nothing can be said."""
    if saved is None:
        return ""
    text = f"at least {percent(saved.value, 0)}" if saved.is_least else percent(saved.value, 0)
    return text + _interval(saved)


def _share(saved: Savings) -> str:
    is_more = saved.value < 0
    word, value = ("spent", -saved.value) if is_more else ("saved", saved.value)
    text = f"{word} {percent(value, 0)}{' more' if is_more else ''}"
    if saved.low is None or saved.high is None:
        return f"{text}; no interval can be given {_why_none(saved)}"
    low, high = (-saved.high, -saved.low) if is_more else (saved.low, saved.high)
    return f"{text} [{share(low, 0)}, {share(high, 0)}]"


def _why_none(saved: Savings) -> str:
    if 1 in (saved.n, saved.num_baseline):
        return "from a single seed"
    why = "because the seeds of each side spent the same, or one of the baseline nothing"
    return f"{why} (n = {saved.n} and {saved.num_baseline})"


def _interval(saved: Savings) -> str:
    if saved.low is None or saved.high is None:
        return ""
    return f" [{share(saved.low, 0)}, {share(saved.high, 0)}]"


def _spent(hours: float, cost: float | None, currency: str) -> str:
    text = f"{_digits(hours)}{THIN_SPACE}h"
    return text if cost is None else f"{text} ({_digits(cost)}{THIN_SPACE}{currency})"


def _digits(value: float) -> str:
    """Format a value so that the expense of small runs shows too: 1.2 → "1.20", 0.0012 → "0.0012"."""
    return f"{value:,.2f}" if value >= 0.1 or value == 0 else f"{value:.2g}"
