"""Every field's meaning, range and default, for the form, the CLI and the docs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from bapo.config.fields import FieldDocumentation, FieldVariant, section_fields
from bapo.config.method import METHODS, MethodSection
from bapo.config.run import REGISTRIES, RunConfig
from bapo.config.task import TASKS

METHOD_TYPE = "method.type"
TASK_TYPE = "task.type"


def documentation() -> tuple[FieldDocumentation, ...]:
    """Return all fields, in the order of the config; one that several methods or tasks know appears once."""
    return _documentation(tuple(METHODS.classes), tuple(TASKS.classes))


@cache
def _documentation(*_types: tuple[str, ...]) -> tuple[FieldDocumentation, ...]:
    merged: dict[str, FieldDocumentation] = {}
    for found in _all_fields():
        known = merged.get(found.path)
        merged[found.path] = found if known is None else _merged(known, found)
    return tuple(merged.values())


def _all_fields() -> Iterator[FieldDocumentation]:
    for name, info in RunConfig.model_fields.items():
        registry = REGISTRIES.get(name)
        if registry is None:
            section: Any = info.annotation
            for found in section_fields(section, f"{name}."):
                yield replace(found, description=_with_own_values(found))
            continue
        for type_name, typed in registry.classes.items():
            for found in section_fields(typed, f"{name}."):
                owner = (type_name,)
                yield replace(found, method_types=owner) if registry is METHODS else replace(found, task_types=owner)


_LEFT_TO_THE_METHOD: Mapping[str, Callable[[type[MethodSection]], Any]] = {
    "loss.clip_low": lambda method: method.clip_range[0],
    "loss.clip_high": lambda method: method.clip_range[1],
    "loss.aggregation": lambda method: method.aggregation,
    "loss.ratio_level": lambda method: method.ratio_level,
}


def value_of_method(path: str, method: str) -> str | None:
    """Return the method's own value of a field of the loss; None for other fields and unknown methods."""
    own, section = _LEFT_TO_THE_METHOD.get(path), METHODS.get(method)
    if own is None or section is None:
        return None
    value = own(section)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _with_own_values(found: FieldDocumentation) -> str:
    """Return `…the method's own: 0.28 with dapo, 0.2 with all others.`, which only the config classes know."""
    if found.path not in _LEFT_TO_THE_METHOD:
        return found.description
    methods: dict[str, list[str]] = {}
    for method in METHODS.classes:
        methods.setdefault(str(value_of_method(found.path, method)), []).append(method)
    *others, usual = sorted(methods, key=lambda value: len(methods[value]))
    values = [*(f"{value} with {_and(methods[value])}" for value in others), f"{usual} with all others"]
    return f"{found.description.removesuffix('.')}: {', '.join(values)}."


def _and(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _merged(known: FieldDocumentation, other: FieldDocumentation) -> FieldDocumentation:
    """Return the field, with what another method or type of tasks changes about it."""
    # The registry lets no other class in.
    assert known.kind == other.kind, f"{known.path} is of different kinds in different methods"
    variants = dict(known.variants)
    theirs, ours = _variant(other), _variant(known)
    if known.path in (METHOD_TYPE, TASK_TYPE):
        # Each class has its own type as the default, but the default of a config is the first one.
        theirs = replace(theirs, default=known.default)
    if theirs != ours:
        variants |= dict.fromkeys(other.method_types + other.task_types, theirs)
    return replace(
        known,
        choices=tuple(dict.fromkeys(known.choices + other.choices)),
        method_types=known.method_types + other.method_types,
        task_types=known.task_types + other.task_types,
        variants=variants,
    )


def _variant(documented: FieldDocumentation) -> FieldVariant:
    return FieldVariant(
        documented.description, documented.default, documented.optional, documented.minimum, documented.maximum
    )


def method_types() -> tuple[str, ...]:
    """Return every `method.type`."""
    return tuple(METHODS.classes)


def task_types() -> tuple[str, ...]:
    """Return every `task.type`."""
    return tuple(TASKS.classes)
