"""Options that several commands have in common: a dataclass declares them, and a command takes it as one parameter."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature
from typing import Any, get_type_hints


def with_option_sets(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function some of whose parameters are dataclasses: it has an option for each field."""
    parameters = parameters_of(command)

    def flat(**given: Any) -> None:
        command(**{each.name: _taken(each, given) for each in parameters})

    return wrapper(flat, command, (option for each in parameters for option in _options(each)))


def parameters_of(command: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a command, each with its type."""
    return list(inspect.signature(command, eval_str=True).parameters.values())


def wrapper(
    function: Callable[..., None], command: Callable[..., Any], shown: Iterable[Parameter]
) -> Callable[..., None]:
    """Return the function with the name and help of the command that it wraps, and with these parameters."""
    functools.update_wrapper(function, command)
    parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in shown]
    function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {each.name: each.annotation for each in parameters}
    return function


def option(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    """Return a parameter that a wrapper adds to those of its command."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _options(parameter: Parameter) -> Iterator[Parameter]:
    kind = parameter.annotation
    if not _is_option_set(kind):
        yield parameter
        return
    types = get_type_hints(kind, include_extras=True)
    for each in parameters_of(kind):
        yield each.replace(annotation=types[each.name])


def _taken(parameter: Parameter, given: dict[str, Any]) -> Any:
    kind = parameter.annotation
    return (
        kind(**{each.name: given[each.name] for each in fields(kind)})
        if _is_option_set(kind)
        else given[parameter.name]
    )


def _is_option_set(kind: Any) -> bool:
    return isinstance(kind, type) and is_dataclass(kind)
