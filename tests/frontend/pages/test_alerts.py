"""What the form of an alert rule reads, and says about it."""

from __future__ import annotations

from typing import Any

import pytest

from frontend.pages.alerts.form import written

METRIC = {"key": "actor/entropy", "comparison": "<", "threshold": 0.1, "steps": 1}


@pytest.mark.parametrize(
    ("kind", "given", "place", "remedy"),
    [
        ("metric", METRIC | {"steps": 0}, "steps", "must be at least 1"),
        ("metric", METRIC | {"threshold": ""}, "threshold", "is missing: add it"),
        (
            "metric",
            METRIC | {"smoothing": "median:5"},
            "smoothing",
            "must be mean:STEPS or ema:STEPS with 1 to 999 steps, such as mean:10",
        ),
        (
            "entropy_collapse",
            {"below": "", "fall_percent": ""},
            "below",
            "give `below`, `fall_percent` or both: without a limit nothing is watched",
        ),
    ],
)
def test_what_is_wrong_stands_at_its_field_in_our_words(
    kind: str, given: dict[str, Any], place: str, remedy: str
) -> None:
    found = written(kind, {(kind, name): value for name, value in given.items()} | {("rule", "name"): "x"}, None)
    assert found.rule is None
    assert found.problems == {(kind, place): remedy}


def test_a_name_is_asked_for() -> None:
    assert written("failed", {}, None).problems == {("rule", "name"): "is empty: fill it in"}
