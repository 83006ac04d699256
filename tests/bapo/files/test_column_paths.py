"""Paths into the structures of a row."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.files.column_paths import MOST_DEPTH, has_column, leaf_paths, outer_paths, value_at

ROW: dict[str, Any] = {
    "prompt": "3 4 5",
    "a.b": {"c": "dotted"},
    "a": {"b": {"c": "nested", "d": None}},
    "image": {"bytes": b"x", "path": None},
    "reward_model": {"ground_truth": {"target": 12, "numbers": [3, 4, 5]}},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("prompt", "3 4 5"),
        ("reward_model.ground_truth.target", 12),
        ("reward_model.ground_truth", {"target": 12, "numbers": [3, 4, 5]}),
        ("a.b", {"c": "dotted"}),
        ("a.b.d", None),
        ("a.b.c", "dotted"),
    ],
)
def test_a_path_leads_into_structures_to_any_depth(path: str, value: Any) -> None:
    assert (has_column(ROW, path), value_at(ROW, path, "none")) == (True, value)


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "prompt.x", "reward_model.target", "reward_model..target"])
def test_a_path_that_leads_nowhere_has_no_value(path: str) -> None:
    assert (has_column(ROW, path), value_at(ROW, path, "none")) == (False, "none")


def test_parts_are_listed_by_their_paths_and_an_image_is_one() -> None:
    assert list(leaf_paths(ROW)) == [
        "prompt",
        "a.b.c",
        "a.b.c",
        "a.b.d",
        "image",
        "reward_model.ground_truth.target",
        "reward_model.ground_truth.numbers",
    ]
    assert list(outer_paths("a.b.c")) == ["a", "a.b"]


def test_a_structure_that_lies_too_deep_is_listed_whole() -> None:
    row: dict[str, Any] = {"x": 1}
    for _ in range(MOST_DEPTH + 5):
        row = {"x": row}
    assert list(leaf_paths(row)) == [".".join("x" * MOST_DEPTH)]
