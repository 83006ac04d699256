"""Calls of callbacks that no page makes are refused with what to do; Dash would fail at them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bapo.client.errors import UnreachableError
from frontend.request.calls import CallError, check_call, refusing_other_types

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
    several = {"output": "..a.b...c.d..", "outputs": [[CALL["outputs"]], CALL["outputs"]]}
    check_call(json.dumps(CALL | several).encode(), {"..a.b...c.d..": CALLBACKS["a.b"]})


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
        ({"outputs": [[]]}, "outputs"),
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


async def act(run_id: str, steps: Sequence[int], store: Mapping[str, Any], *names: str) -> str:
    if run_id == "away":
        raise UnreachableError("http://server.test", "away")
    return run_id.upper() + str(sum(steps)) + store["name"] + "".join(name.strip() for name in names)


def test_what_a_callback_takes_is_handed_on() -> None:
    assert asyncio.run(refusing_other_types(act)("a", [1, 2], {"name": "b"}, " c", "d ")) == "A3bcd"
    assert refusing_other_types(lambda value: value)(1) == 1


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ((1, [], {"name": ""}), "run_id = '1': Input should be a valid string: reload the page"),
        (("a", [1, "2"], {"name": ""}), r"steps\[1\] = '2': Input should be a valid integer: reload the page"),
        (("a", [], None), "store = 'None': Input should be .*: reload the page"),
        (("a", [], {"name": ""}, "b", 3), "names = '3': Input should be a valid string: reload the page"),
        (("a", [], {}), "the values of the page do not fit together: reload the page"),
    ],
)
def test_a_value_that_a_callback_cannot_take_is_named(values: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        asyncio.run(refusing_other_types(act)(*values))


def test_what_fails_at_values_of_the_right_types_is_logged_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(CallError):
        asyncio.run(refusing_other_types(act)("a", [], {}))
    (record,) = caplog.records
    assert record.__dict__["callback"].endswith("test_calls.act")
    assert record.__dict__["failure"] == "KeyError('name')"
    assert "test_calls.py:" in record.__dict__["place"]


def test_a_refusal_of_the_server_stays_one() -> None:
    with pytest.raises(UnreachableError):
        asyncio.run(refusing_other_types(act)("away", [], {}))
