"""Rules as pure readers of values: where an alert opens, where it is resolved, and what is remembered in between."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import ValidationError

from backend.notices.alerts.watches import Finding, Memory, Watch, read_all, watch_of
from bapo.api.alerts import (
    AlertCondition,
    EmptyBatchesCondition,
    EntropyCondition,
    FailedCondition,
    FillRateCondition,
    MetricCondition,
    RatioCondition,
    RuleDraft,
)
from bapo.records import metrics
from bapo.run.journal import merged_records


def findings(condition: AlertCondition, values: Sequence[float]) -> list[tuple[str, int]]:
    """What is found in values that begin with step 1, remembering through JSON between any two of them."""
    watch = watch_of(condition)
    assert watch is not None
    memory: Memory = {}
    found: list[Finding] = []
    for step, value in enumerate(values, start=1):
        memory = json.loads(json.dumps(memory))
        found += read_all(watch, memory, [(step, value)])
    assert found == read_all(watch, {}, enumerate(values, start=1)), "reading at once is the same"
    return [(finding.change, finding.step) for finding in found]


def test_n_empty_batches_in_a_row_open_an_alert_and_n_minus_one_do_not() -> None:
    condition = EmptyBatchesCondition(steps=3)
    assert findings(condition, [8, 0, 0, 1, 0, 0, 8]) == []
    assert findings(condition, [8, 0, 0, 0, 0]) == [("opened", 4)]
    # Three steps with groups in a row resolve it: not two.
    assert findings(condition, [0, 0, 0, 8, 8, 0, 8, 8, 8]) == [("opened", 3), ("resolved", 9)]


def test_one_empty_batch_can_be_enough_but_three_full_ones_resolve_it() -> None:
    assert findings(EmptyBatchesCondition(steps=1), [0, 8, 8, 8, 0]) == [
        ("opened", 1),
        ("resolved", 4),
        ("opened", 5),
    ]


def test_as_many_full_batches_as_opened_an_alert_resolve_it() -> None:
    condition = EmptyBatchesCondition(steps=5)
    # Four full batches after five empty ones, and an empty one, which begins the count again.
    values = [0, 0, 0, 0, 0, 8, 8, 8, 8, 0, 8, 8, 8, 8]
    assert findings(condition, values) == [("opened", 5)]
    assert findings(condition, [*values, 8]) == [("opened", 5), ("resolved", 15)]


def test_a_fill_rate_at_the_limit_is_no_finding() -> None:
    condition = FillRateCondition(below=0.5, steps=2)
    assert findings(condition, [0.5, 0.5, 0.5]) == []
    assert findings(condition, [0.49, 0.5, 0.49, 0.49]) == [("opened", 4)]


@pytest.mark.parametrize(("ratio", "is_outside"), [(0.5, False), (0.4999, True), (2.0, False), (2.0001, True)])
def test_the_ratio_may_reach_its_limits(ratio: float, is_outside: bool) -> None:
    assert findings(RatioCondition(steps=3), [1.0, ratio, ratio, ratio]) == ([("opened", 4)] if is_outside else [])


@pytest.mark.parametrize(
    ("comparison", "below", "at", "above"),
    [("<", True, False, False), ("<=", True, True, False), (">", False, False, True), (">=", False, True, True)],
)
def test_a_metric_is_compared_as_the_rule_says(comparison: str, below: bool, at: bool, above: bool) -> None:
    condition = MetricCondition.model_validate({"key": "a/b", "comparison": comparison, "threshold": 2.0})
    assert [bool(findings(condition, [value])) for value in (1.9, 2.0, 2.1)] == [below, at, above]


def test_a_mean_is_compared_once_there_are_as_many_values_as_it_is_a_mean_of() -> None:
    condition = MetricCondition(key="a/b", comparison=">", threshold=2.0, smoothing="mean:3")
    # Means of three: (9 + 0 + 0) / 3 = 3 at step 3; (0 + 0 + 6) / 3 = 2 at step 4 is not above 2.
    assert findings(condition, [9, 0]) == []
    assert findings(condition, [9, 0, 0]) == [("opened", 3)]
    assert findings(condition, [0, 0, 0, 6]) == []
    assert findings(condition, [0, 0, 0, 6.1]) == [("opened", 4)]


def test_an_exponential_mean_fades_by_its_span() -> None:
    # Span 3: each weight is 1 - 2/4 = 1/2 of the next. (0/4 + 0/2 + 7) / (1/4 + 1/2 + 1) = 4 at step 3.
    condition = MetricCondition(key="a/b", comparison=">=", threshold=4.0, smoothing="ema:3")
    assert findings(condition, [0, 0, 7]) == [("opened", 3)]
    assert findings(condition, [0, 0, 6.99]) == []


def test_an_entropy_below_the_limit_opens_once_most_of_five_steps_are_below_it() -> None:
    condition = EntropyCondition(below=0.1, fall_percent=None)
    assert findings(condition, [0.05, 0.05, 0.05, 0.05]) == [], "no level without five steps"
    assert findings(condition, [0.2, 0.2, 0.2, 0.05, 0.05]) == [], "the median of five is 0.2"
    assert findings(condition, [0.2, 0.2, 0.05, 0.05, 0.05]) == [("opened", 5)]
    assert findings(condition, [0.1] * 9) == [], "at the limit is not below it"
    # Resolved at 1.1 times the limit, not before.
    assert findings(condition, [0.05] * 5 + [0.1099] * 9) == [("opened", 5)]
    assert findings(condition, [0.05] * 5 + [0.1101] * 3) == [("opened", 5), ("resolved", 8)]


def test_a_fall_is_measured_between_two_levels_as_far_apart_as_the_rule_says() -> None:
    condition = EntropyCondition(below=None, fall_percent=50, within_steps=4)
    # Levels at steps 5 and 9: medians 1.0 and 0.49, a fall of 51 %.
    assert findings(condition, [1.0] * 5 + [0.49] * 4) == [("opened", 9)]
    assert findings(condition, [1.0] * 5 + [0.5] * 20) == [], "exactly half is not more than half"
    # The same fall over twice as many steps: never more than 50 % within four.
    slow = [1.0, 1.0, 1.0, 1.0, 1.0, *(0.93**step for step in range(1, 30))]
    assert findings(condition, slow) == []
    # One step without entropy in between says nothing.
    assert findings(condition, [1.0] * 5 + [0.0] + [1.0] * 9) == []


def test_a_fall_is_over_when_half_of_it_is_back_and_not_because_time_passes() -> None:
    condition = EntropyCondition(below=None, fall_percent=50, within_steps=4)
    fallen = [1.0] * 5 + [0.4] * 40
    # The median of steps 5 to 9 is the first that is low: three of five are.
    assert findings(condition, fallen) == [("opened", 9)], "it stays open while the entropy stays low"
    assert [change for change, _ in findings(condition, fallen + [0.74] * 9)] == ["opened"]
    assert [change for change, _ in findings(condition, fallen + [0.76] * 9)] == ["opened", "resolved"]


def test_states_are_no_metrics() -> None:
    assert watch_of(FailedCondition()) is None


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "entropy_collapse", "below": None, "fall_percent": None},
        {"kind": "entropy_collapse", "below": 0},
        {"kind": "entropy_collapse", "fall_percent": 100},
        {"kind": "fill_rate", "below": 1.1},
        {"kind": "ratio", "low": 1.1},
        {"kind": "ratio", "high": 0.9},
        {"kind": "metric", "key": "a/b", "comparison": "=", "threshold": 1},
        {"kind": "metric", "key": "a/b", "comparison": "<", "threshold": 1, "smoothing": "mean:0"},
        {"kind": "metric", "key": "a/b", "comparison": "<", "threshold": "__import__('os')"},
        {"kind": "empty_batches", "steps": 0},
        {"kind": "stalled", "minutes": 0},
        {"kind": "stalled", "code": "1/0"},
    ],
)
def test_what_is_no_condition_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RuleDraft.model_validate({"condition": given})


def test_the_usual_rules_are_silent_about_healthy_runs(recorded_folders: dict[str, Path]) -> None:
    watches: list[Watch] = [
        watch
        for condition in (EntropyCondition(), EmptyBatchesCondition(), FillRateCondition(), RatioCondition())
        if (watch := watch_of(condition)) is not None
    ]
    for name, folder in recorded_folders.items():
        recorded = [(record.step, metrics(record)) for record in merged_records(folder)]
        for watch in watches:
            values = [(step, values[watch.key]) for step, values in recorded if watch.key in values]
            assert len(values) >= 20, (name, watch.key)
            assert read_all(watch, {}, values) == [], (name, watch.key)
