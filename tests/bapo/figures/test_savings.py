"""What was saved at the first group's final accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bapo.figures.groups import grouped
from bapo.figures.recorded import RecordedRun
from bapo.figures.savings import savings_data, savings_table
from tests.support.figure_runs import evaluation, run


def trained(name: str, method: str, right: Sequence[int], *, seed: int = 1, seconds: float = 3600.0) -> RecordedRun:
    """Three steps of so many seconds, and after each an evaluation with so many of 4 right on both problems."""
    records = [evaluation(step, [number, number]) for step, number in enumerate(right, start=1)]
    columns = {"timing_s/step": [seconds] * 3}
    return run(name, method, seed=seed, evaluations=records, columns=columns)


def texts(runs: Sequence[RecordedRun]) -> list[list[str]]:
    data = savings_data(grouped(runs))
    assert data is not None
    return [[cell.text.replace("\u202f", " ") for cell in row] for row in savings_table(data).rows]


def test_the_first_group_is_the_baseline_at_its_final_accuracy() -> None:
    # GRPO ends at 2 of 4 after 3 h, BAPO has that after 2 h: 1 - 2/3 saved.
    runs = [trained("a", "grpo", [0, 1, 2]), trained("b", "bapo", [1, 2, 3])]
    data = savings_data(grouped(runs))
    assert data is not None
    assert (data.baseline, data.target) == ("GRPO", 0.5)
    assert texts(runs) == [
        ["GRPO", "1 of 1", "3.00", "baseline"],
        ["BAPO", "1 of 1", "2.00", "33 %, no interval"],
    ]


def test_seeds_give_an_interval() -> None:
    runs = [
        *(trained(f"a{seed}", "grpo", [0, 1, 2], seed=seed) for seed in (1, 2)),
        trained("b1", "bapo", [2, 2, 2], seed=1),
        trained("b2", "bapo", [1, 2, 2], seed=2),
    ]
    # BAPO after 1 h and 2 h, GRPO after 3 h: 1 - 1.5/3, between 1 - 2/3 and 1 - 1/3.
    assert texts(runs)[1] == ["BAPO", "2 of 2", "1.50", "50 % [33, 67]"]


def test_what_was_not_reached_claims_nothing() -> None:
    runs = [trained("a", "grpo", [0, 1, 2]), trained("b", "bapo", [1, 1, 1])]
    assert texts(runs)[1] == ["BAPO", "not reached", "–", "–"]


def test_the_cost_counts_where_all_have_prices() -> None:
    runs = [
        trained("a", "grpo", [0, 1, 2])._replace(compute_hours=6.0, cost=12.0, currency="EUR"),
        trained("b", "bapo", [1, 2, 3])._replace(compute_hours=6.0, cost=24.0, currency="EUR"),
    ]
    # 3 h at 2 EUR, and 2 h at 4 EUR: a third more.
    assert texts(runs)[1] == ["BAPO", "1 of 1", "2.00", "8.00", "-33 %, no interval"]


@pytest.mark.parametrize("methods", [["grpo"], ["GRPO", "bapo"]])
def test_without_evaluations_or_a_second_group_there_is_none(methods: Sequence[str]) -> None:
    assert savings_data(grouped([run(method, method) for method in methods])) is None
