"""Changed fields go into an address and come out again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.components.changes_query import changes_text, parse_changes


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, ""),
        ({"method.c1": "1/4", "method.m": 2}, "method.c1:1/4;method.m:2"),
        ({"method.c2": ["0", "1/2"]}, "method.c2:0~1/2"),
        ({"method.without": ["reused"]}, "method.without:reused~"),
        ({"method.without": []}, "method.without:~"),
        ({"method.difficult_buffer.capacity": None}, "method.difficult_buffer.capacity:null"),
        ({"evaluation.enabled": False}, "evaluation.enabled:false"),
    ],
)
def test_changes_are_written_so_that_people_can_read_them(changes: dict[str, Any], text: str) -> None:
    assert changes_text(changes) == text


def test_what_was_written_reads_back_as_config_values() -> None:
    changes = {"method.c1": "1/4", "method.m": 2, "method.without": ["reused"], "training.epochs": None}
    assert parse_changes(changes_text(changes)) == changes
    # Numbers and their texts mean the same to a config.
    assert parse_changes("method.c2:0~0.5") == {"method.c2": [0, 0.5]}


@given(st.text(max_size=60))
def test_any_text_in_an_address_is_read(text: str) -> None:
    assert all(isinstance(path, str) for path in parse_changes(text))
