"""Calls of callbacks that no page makes are refused with what to do; Dash would fail at them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frontend.calls import CallError, check_call

CALLBACKS: dict[str, dict[str, Any]] = {
    "a.b": {"inputs": [{"id": "x", "property": "value"}], "state": [{"id": "y", "property": "data"}]}
}
CALL: dict[str, Any] = {
    "output": "a.b",
    "outputs": {"id": "a", "property": "b"},
    "inputs": [{"id": "x", "property": "value", "value": {"any": ["thing"]}}],
    "state": [[{"id": {"type": "y", "index": 1}, "property": "data"}]],
    "changedPropIds": ["x.value"],
}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_a_call_as_pages_make_it_is_let_through() -> None:
    check_call(json.dumps(CALL).encode(), CALLBACKS)
    check_call(json.dumps(CALL | {"outputs": [[CALL["outputs"]], CALL["outputs"]]}).encode(), CALLBACKS)


@pytest.mark.parametrize("body", [b"", b"x", b"\xff", b"[" * 100_000, b'{"output": NaN}'])
def test_a_body_that_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(CallError, match="the body is not JSON"):
        check_call(body, CALLBACKS)


@pytest.mark.parametrize("call", [None, 1, "x", [], [CALL]])
def test_a_body_that_is_no_object_is_refused(call: Any) -> None:
    with pytest.raises(CallError, match="must be a JSON object"):
        check_call(json.dumps(call).encode(), CALLBACKS)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"output": None}, "output = 'None'"),
        ({"output": ["a.b"]}, "output = "),
        ({"output": "c.d"}, "output = 'c.d': no such callback: reload the page"),
        ({"inputs": []}, "inputs: the callback has 1"),
        ({"inputs": "x"}, "inputs"),
        ({"inputs": [None]}, "inputs"),
        ({"inputs": [{"id": "x"}]}, "inputs"),
        ({"inputs": [{"id": 1, "property": "value"}]}, "inputs"),
        ({"inputs": [[[CALL["inputs"][0]]]]}, "inputs"),
        ({"inputs": CALL["inputs"] * 2}, "inputs"),
        ({"state": None}, "state"),
        ({"outputs": 1}, "outputs"),
        ({"outputs": [{}]}, "outputs"),
        ({"changedPropIds": "x.value"}, "changedPropIds"),
        ({"changedPropIds": [{}]}, "changedPropIds"),
        ({"more": deep(200)}, "nested more than 100 levels deep"),
    ],
)
def test_a_call_that_lacks_what_its_callback_has_is_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(CallError) as caught:
        check_call(json.dumps(CALL | changes).encode(), CALLBACKS)
    assert field in str(caught.value)
