"""Calls that pages make of callbacks: what Dash would fail at is refused with what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

CALL_PATH = "/_dash-update-component"
MOST_LEVELS = 100
"""Lists and objects within one another; those of a page have about ten."""
_RELOAD = "reload the page, which may be older than the server"


class CallError(ValueError):
    """A call that no page of ours makes; the text says what is wrong, and what to do."""


def check_call(body: bytes, callbacks: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise CallError for what is no call of one of the callbacks, with each of its inputs and states."""
    try:
        call = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise CallError(f"the body is not JSON: {error}") from None
    if not isinstance(call, dict):
        raise CallError("the body must be a JSON object")
    if _is_deeper(call, MOST_LEVELS):
        raise CallError(f"the body is nested more than {MOST_LEVELS} levels deep")
    output = call.get("output")
    callback = callbacks.get(output) if isinstance(output, str) else None
    if callback is None:
        raise CallError(f"output = {str(output)[:100]!r}: no such callback: {_RELOAD}")
    for field, declared in (("inputs", callback["inputs"]), ("state", callback["state"])):
        given = call.get(field, [])
        if not isinstance(given, list) or len(given) != len(declared) or not all(map(_is_property, given)):
            raise CallError(f"{field}: the callback has {len(declared)}, each with id and property: {_RELOAD}")
    outputs = call.get("outputs", [])
    if not (_is_property(outputs) or (isinstance(outputs, list) and all(map(_is_property, outputs)))):
        raise CallError(f"outputs: must have id and property each: {_RELOAD}")
    changed = call.get("changedPropIds", [])
    if not isinstance(changed, list) or not all(isinstance(each, str) for each in changed):
        raise CallError(f"changedPropIds: must be a list of texts: {_RELOAD}")


def _is_property(given: object) -> bool:
    """Whether it names a component and its property; a pattern names a list of them."""
    if isinstance(given, list):
        return all(isinstance(each, dict) and _is_property(each) for each in given)
    return (
        isinstance(given, dict) and isinstance(given.get("id"), str | dict) and isinstance(given.get("property"), str)
    )


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested more deeply, without a call for each level."""
    level: Sequence[Any] = [value]
    for _ in range(levels):
        level = [
            inside
            for each in level
            for inside in (each.values() if isinstance(each, dict) else each)
            if isinstance(inside, dict | list)
        ]
        if not level:
            return False
    return True
