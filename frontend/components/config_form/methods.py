"""The form's changes when another method or another type of task is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bapo.api.configs import ConfigFieldInfo
from bapo.config.documentation import value_of_method
from frontend.components.config_form.inputs import METHOD, TASK, StartValues, form_fields
from frontend.components.config_form.values import FormField, knows, shown
from frontend.components.symbols import SYMBOLS
from frontend.components.text import plain

CHOOSERS = (METHOD, TASK)


def shared_base(infos: Sequence[ConfigFieldInfo], base: Mapping[str, Any]) -> dict[str, Any]:
    """Return the start values of the fields that belong to no method and no type of tasks."""
    owned = {info.path for info in infos if any(_types(info, chooser) for chooser in CHOOSERS)} - {*CHOOSERS}
    return {path: value for path, value in base.items() if path not in owned}


def own_bases(
    chooser: str, infos: Sequence[ConfigFieldInfo], explicit: Mapping[str, Any], base: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the own fields of each method, or of each type of tasks, as `chooser` says, with their start values.

    Another choice keeps what was set before as far as it knows the field; all else gets its default. `explicit` and
    `base` by dotted path: what was set, and what is in force before any change.
    """
    chosen = next(info for info in infos if info.path == chooser)
    bases = {}
    for choice in chosen.choices:
        method, task = _with(base, chooser, choice)
        members = [
            info for info in infos if info.path != chooser and _types(info, chooser) and knows(info, method, task)
        ]
        fields = form_fields(members, base if choice == base[chooser] else explicit, method, task)
        bases[choice] = {field.info.path: field.base for field in fields}
    return bases


def _types(info: ConfigFieldInfo, chooser: str) -> Sequence[str]:
    """Return the methods, or the types of tasks, that have the field; empty where it belongs to all."""
    return info.method_types if chooser == METHOD else info.task_types


def _with(types: Mapping[str, Any], chooser: str, choice: str) -> tuple[str, str]:
    """Return method and type of tasks if the chooser has this value."""
    chosen = {**types, chooser: choice}
    return str(chosen[METHOD]), str(chosen[TASK])


def field_text(info: ConfigFieldInfo, method: str) -> str | None:
    """Return the text below a field: its meaning unless a symbol explains it, its range, and the method's value."""
    symbol = SYMBOLS.get(info.path)
    legal = symbol.legal if symbol and symbol.legal else _legal(info)
    description = None if symbol and info.path != METHOD else plain(info.description)
    return " ".join(part for part in (description, legal, _of_method(info.path, method)) if part) or None


def base_text(field: FormField) -> str:
    """Return the value that a field started from, in words."""
    parts = [
        part for value in shown(field.info, field.base) for part in (value if isinstance(value, list) else [value])
    ]
    return ", ".join(str(part) for part in parts) or "empty"


def looks(
    chooser: str, infos: Sequence[ConfigFieldInfo], start: StartValues, types: Mapping[str, str]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, for each choice and field that depends on it, the inputs' values, their words, and the text below.

    `types`: what the form begins with.
    """
    return {
        choice: {
            field.info.path: _look(field, method)
            for field in form_fields(infos, start.base(method, task), method, task)
            if (_types(field.info, chooser) and knows(field.info, method, task))
            or (chooser == METHOD and _of_method(field.info.path, method))
        }
        for choice in start.own[chooser]
        for method, task in [_with(types, chooser, choice)]
    }


def _look(field: FormField, method: str) -> dict[str, Any]:
    return {
        "shown": shown(field.info, field.base),
        "was": base_text(field),
        "text": field_text(field.info, method),
    }


def _of_method(path: str, method: str) -> str:
    """Return the value in force if a field of the loss is left to the method."""
    value = value_of_method(path, method)
    return "" if value is None else f"{method} has {value}."


def _legal(info: ConfigFieldInfo) -> str:
    if info.kind in ("choice", "choices", "flag", "text", "list"):
        return ""
    match info.minimum, info.maximum:
        case None, float(maximum):
            return f"At most {_bound(maximum)}."
        case float(minimum), None:
            return f"At least {_bound(minimum)}."
        case float(minimum), float(maximum):
            return f"{_bound(minimum)} to {_bound(maximum)}."
        case _:
            return ""


def _bound(value: float) -> str:
    """Return a bound such as `4,294,967,295`, `0.5`, `1e-06`."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"
