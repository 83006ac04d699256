"""Calls that pages make of callbacks: what Dash would fail at is refused with what to do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, iscoroutinefunction, signature
from itertools import repeat
from traceback import extract_tb
from typing import Any, get_type_hints

import orjson
from dash.exceptions import PreventUpdate
from pydantic import TypeAdapter, ValidationError

from bapo.client import ApiError

CALL_PATH = "/_dash-update-component"
MOST_LEVELS = 100
"""Lists and objects within one another; those of a page have about ten."""
_UNFIT_FOR = (LookupError, TypeError, AttributeError, ValueError)
"""Exceptions that Python raises for a value of another shape."""
Act = Callable[..., Any]
LOG = logging.getLogger(__name__)
_RELOAD = "reload the page, which may be older than the server"
UNFIT = f"the values of the page do not fit together: {_RELOAD}"


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
    if not isinstance(output, str) or (callback := callbacks.get(output)) is None:
        raise CallError(f"output = {str(output)[:100]!r}: no such callback: {_RELOAD}")
    for field, declared in (("inputs", callback["inputs"]), ("state", callback["state"])):
        given = call.get(field, [])
        if not isinstance(given, list) or len(given) != len(declared) or not all(map(_is_property, given)):
            raise CallError(f"{field}: the callback has {len(declared)}, each with id and property: {_RELOAD}")
    outputs = call.get("outputs", [])
    # A callback with several outputs has dots around their names; of several, each may be a pattern.
    each_of = outputs if output.startswith("..") else [outputs]
    num_outputs = len(output.split("..."))
    if not isinstance(each_of, list) or len(each_of) not in (0, num_outputs) or not all(map(_is_property, each_of)):
        raise CallError(f"outputs: the callback has {num_outputs}, each with id and property: {_RELOAD}")
    changed = call.get("changedPropIds", [])
    if not isinstance(changed, list) or not all(isinstance(each, str) for each in changed):
        raise CallError(f"changedPropIds: must be a list of texts: {_RELOAD}")


def _is_property(given: object) -> bool:
    """Return whether it names a component and its property; a pattern names a list of them."""
    if isinstance(given, list):
        return all(isinstance(each, dict) and _is_property(each) for each in given)
    return (
        isinstance(given, dict) and isinstance(given.get("id"), str | dict) and isinstance(given.get("property"), str)
    )


def _is_deeper(value: Any, levels: int) -> bool:
    """Return whether lists and objects are nested more deeply, without a call for each level."""
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


def refusing_other_types(act: Act) -> Act:
    """Return the function of a callback, with CallError in place of what it fails at where values do not fit it.

    Pages send the types that the function declares, and stores whose parts it knows. Other values come from an old
    page, another client, or a bug of ours, for which the log names the place.
    """
    if iscoroutinefunction(act):

        @wraps(act)
        async def awaited(*values: Any) -> Any:
            with _refusing(act, values):
                return await act(*values)

        return awaited

    @wraps(act)
    def called(*values: Any) -> Any:
        with _refusing(act, values):
            return act(*values)

    return called


@contextmanager
def _refusing(act: Act, values: Sequence[Any]) -> Iterator[None]:
    try:
        yield
    except (PreventUpdate, ApiError, CallError):
        raise
    except Exception as error:
        for parameter, value in zip(_parameters(act), values, strict=False):
            if (problem := _problem(parameter, value)) is not None:
                raise CallError(f"{problem}: {_RELOAD}") from None
        if not isinstance(error, _UNFIT_FOR):
            raise
        last = extract_tb(error.__traceback__)[-1]
        place = f"{last.filename}:{last.lineno}"
        facts = {"callback": f"{act.__module__}.{act.__qualname__}", "place": place, "failure": repr(error)[:200]}
        LOG.error("a callback cannot take the values of a page", extra=facts)
        raise CallError(UNFIT) from None


def _parameters(act: Act) -> Iterator[tuple[str, Any]]:
    """Return name and type of each value that a function takes, the last one without end where it takes any number."""
    types = get_type_hints(act, include_extras=True)
    for parameter in signature(act).parameters.values():
        named = parameter.name, types.get(parameter.name, Any)
        yield from repeat(named) if parameter.kind is Parameter.VAR_POSITIONAL else (named,)


def _problem(parameter: tuple[str, Any], value: Any) -> str | None:
    name, kind = parameter
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        place = "".join(f"[{part!r}]" for part in error.errors()[0]["loc"])
        return f"{name}{place} = {str(error.errors()[0]['input'])[:100]!r}: {error.errors()[0]['msg']}"
    return None
