"""Savings as a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.analysis.result import Savings
from bapo.analysis.savings_text import Side, saved_share, savings_text

OURS, GRPO = Side("BAPO", 3, 3), Side("GRPO", 3, 3)
HOURS = Savings(value=0.36, spent=1.2, baseline=1.9, low=0.12, high=0.55, n=3, num_baseline=3, is_least=False)
COST = HOURS.model_copy(update={"spent": 3.1, "baseline": 4.9})


def said(ours: Side = OURS, baseline: Side = GRPO, hours: Any = HOURS, cost: Any = COST) -> str:
    return savings_text("40 %", ours, baseline, hours, cost, "USD").replace("\u202f", " ")


def alone(saved: Savings, **changes: Any) -> Savings:
    return saved.model_copy(update={"low": None, "high": None, "n": 1, **changes})


def test_hours_cost_and_interval_are_said() -> None:
    assert said() == ("BAPO reached 40 % after 1.20 h (3.10 USD), GRPO after 1.90 h (4.90 USD): saved 36 % [12, 55].")


def test_without_prices_the_hours_count() -> None:
    assert said(cost=None) == "BAPO reached 40 % after 1.20 h, GRPO after 1.90 h: saved 36 % [12, 55]."


def test_spending_more_is_no_saving() -> None:
    more = HOURS.model_copy(update={"value": -0.5, "low": -0.7, "high": -0.2})
    assert said(hours=more, cost=None).endswith(": spent 50 % more [20, 70].")


def test_a_single_run_has_no_interval() -> None:
    assert said(cost=alone(COST)).endswith(": saved 36 %; no interval can be given from a single seed.")


@pytest.mark.parametrize(
    ("ours", "text"),
    [
        (Side("BAPO", 0, 3), "BAPO did not reach 40 %: no saving can be given."),
        (Side("BAPO", 2, 3), "2 of 3 runs of BAPO reached 40 %: no saving can be given."),
    ],
)
def test_what_was_not_reached_is_said(ours: Side, text: str) -> None:
    assert said(ours, hours=None, cost=None) == text


def test_a_baseline_that_did_not_get_there_gives_a_bound() -> None:
    assert said(baseline=Side("GRPO", 1, 3), cost=alone(COST, is_least=True)) == (
        "BAPO reached 40 % after 1.20 h (3.10 USD); 1 of 3 runs of GRPO reached it, after 1.90 h (4.90 USD): saved at "
        "least 36 %, without an interval."
    )


def test_unknown_hours_are_said() -> None:
    assert said(hours=None, cost=None) == (
        "BAPO: no saving can be given, because the compute hours of some runs are not known, or GRPO needed none."
    )


def test_the_share_alone_stands_in_a_table() -> None:
    assert [saved_share(each).replace("\u202f", " ") for each in (HOURS, alone(HOURS, is_least=True), None)] == [
        "36 % [12, 55]",
        "at least 36 %",
        "",
    ]
