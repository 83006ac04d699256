"""Flags as trainers write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bapo.observe.flags import flag_of, is_cut_of


@pytest.mark.parametrize("given", [True, 1, 1.0, "true", "True", " TRUE ", "1", np.bool_(True), np.int64(1)])
def test_what_is_true(given: Any) -> None:
    assert flag_of(given) is True
    assert is_cut_of(given) is True


@pytest.mark.parametrize("given", [False, 0, 0.0, "false", "False", "0", np.bool_(False), np.float32(0)])
def test_what_is_false(given: Any) -> None:
    assert flag_of(given) is False
    assert is_cut_of(given) is False


@pytest.mark.parametrize("given", ["", "stop", "length", "maybe", 2, 0.5, None, [], [True], {"a": 1}, float("nan")])
def test_what_is_neither_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="give true or false, or 0 or 1"):
        flag_of(given)


@pytest.mark.parametrize(
    ("given", "is_cut"),
    [
        ("length", True),
        ("max_tokens", True),
        ("FinishReason.LENGTH", True),
        ("FINISH_LENGTH", True),
        ({"type": "length", "length": 512}, True),
        ("stop", False),
        ("eos_token", False),
        ("tool_calls", False),
        ("abort", False),
    ],
)
def test_a_generation_that_ended_at_a_limit_was_cut(given: Any, is_cut: bool) -> None:
    assert is_cut_of(given) is is_cut


@pytest.mark.parametrize("given", ["", "who knows", 3, None, {"type": None}])
def test_another_reason_is_refused_with_those_that_are_known(given: Any) -> None:
    with pytest.raises(ValueError, match="or how the generation ended: abort, aborted, completed"):
        is_cut_of(given)
