"""What the form shows otherwise where another method, or another type of tasks, is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bapo.api import ConfigFieldInfo
from bapo.config.objective import default_aggregation, default_clip_range, default_ratio_level
from frontend.pages.new_run.inputs import METHOD, TASK, form_fields
from frontend.pages.new_run.values import FormField, knows, shown
from frontend.symbols import SYMBOLS


def bases_by_method(
    infos: Sequence[ConfigFieldInfo], explicit: Mapping[str, Any], base: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """For each method, what the form starts from: its own fields, and all that belong to no method.

    A change of method keeps what was set before as far as the new method knows the field; all else gets that method's
    default. `explicit` and `base` by dotted path: what was set, and what is in force before any change.
    """
    task = str(base[TASK])
    chosen = next(info for info in infos if info.path == METHOD)
    own = {
        method: [info for info in infos if info.method_types and info.path != METHOD and knows(info, method)]
        for method in chosen.choices
    }
    others = {path: value for path, value in base.items() if not path.startswith("method.") or path == METHOD}
    return {
        method: dict(base)
        if method == base[METHOD]
        else others | {field.info.path: field.base for field in form_fields(members, explicit, method, task)}
        for method, members in own.items()
    }


def bases_by_task(
    infos: Sequence[ConfigFieldInfo], explicit: Mapping[str, Any], base: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """As `bases_by_method`, for each type of tasks its own fields alone."""
    method = str(base[METHOD])
    chosen = next(info for info in infos if info.path == TASK)
    own = {
        task: [info for info in infos if info.task_types and info.path != TASK and knows(info, method, task)]
        for task in chosen.choices
    }
    return {
        task: {TASK: base[TASK]}
        | {
            field.info.path: base.get(field.info.path) if task == base[TASK] else field.base
            for field in form_fields(members, explicit, method, task)
        }
        for task, members in own.items()
    }


def field_text(info: ConfigFieldInfo, method: str) -> str | None:
    """What stands beneath a field: its meaning where no symbol explains it, its range, and the method's own value."""
    symbol = SYMBOLS.get(info.path)
    legal = symbol.legal if symbol and symbol.legal else _legal(info)
    description = None if symbol and info.path != METHOD else info.description
    return " ".join(part for part in (description, legal, _of_method(info.path, method)) if part) or None


def base_text(field: FormField) -> str:
    """The value that a field started from, in words."""
    parts = [
        part for value in shown(field.info, field.base) for part in (value if isinstance(value, list) else [value])
    ]
    return ", ".join(str(part) for part in parts) or "empty"


def looks_by_method(
    infos: Sequence[ConfigFieldInfo], bases: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """For each method and field that depends on it: the inputs' values, their words, and the text beneath."""
    return {
        method: {
            field.info.path: _look(field, method)
            for field in form_fields(infos, base, method, str(base[TASK]))
            if (field.info.method_types and knows(field.info, method)) or _of_method(field.info.path, method)
        }
        for method, base in bases.items()
    }


def looks_by_task(
    infos: Sequence[ConfigFieldInfo], bases: Mapping[str, Mapping[str, Any]], method: str
) -> dict[str, dict[str, dict[str, Any]]]:
    """The same for each type of tasks."""
    return {
        task: {
            field.info.path: _look(field, method)
            for field in form_fields(infos, base, method, task)
            if field.info.task_types and knows(field.info, method, task)
        }
        for task, base in bases.items()
    }


def _look(field: FormField, method: str) -> dict[str, Any]:
    return {
        "shown": shown(field.info, field.base),
        "was": base_text(field),
        "text": field_text(field.info, method),
    }


def _of_method(path: str, method: str) -> str:
    """What is in force where a field of the loss is left to the method."""
    match path:
        case "loss.clip_low":
            return f"{method} has {default_clip_range(method)[0]:g}."
        case "loss.clip_high":
            return f"{method} has {default_clip_range(method)[1]:g}."
        case "loss.aggregation":
            return f"{method} has {default_aggregation(method)}."
        case "loss.ratio_level":
            return f"{method} has {default_ratio_level(method)}."
        case _:
            return ""


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
    """`4,294,967,295`, `0.5`, `1e-06`."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"
