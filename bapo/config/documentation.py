"""Each field's meaning, range and default, read off the config classes: for the form, the CLI and the docs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from bapo.config.fractions import format_fraction
from bapo.config.run import RunConfig

METHOD_TYPE = "method.type"
"""Its description is that of the method."""
TASK_TYPE = "task.type"


@dataclass(frozen=True, slots=True)
class FieldVariant:
    """What is otherwise about a field in one method, or of one type of tasks."""

    description: str
    default: Any
    """JSON value."""
    optional: bool
    minimum: float | None
    maximum: float | None


@dataclass(frozen=True, slots=True)
class FieldDocumentation:
    """One field of the config."""

    path: str
    """Dotted, such as `method.c1`."""
    description: str
    default: Any
    """JSON value."""
    kind: Literal[
        "integer", "number", "fraction", "fraction_range", "text", "flag", "choice", "choices", "list", "texts"
    ]
    optional: bool
    """May be left empty."""
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]
    method_types: tuple[str, ...]
    """Methods that know the field; empty for fields of all methods."""
    task_types: tuple[str, ...] = ()
    """Types of tasks that know the field; empty for fields of all tasks."""
    variants: Mapping[str, FieldVariant] = field(default_factory=dict)
    """Method, or type of tasks → what differs there from the above, which is that of the first of them."""

    def of_type(self, name: str) -> FieldDocumentation:
        """The field as it is in one method, or of one type of tasks."""
        variant = self.variants.get(name)
        if variant is None:
            return self
        return replace(
            self,
            description=variant.description,
            default=variant.default,
            optional=variant.optional,
            minimum=variant.minimum,
            maximum=variant.maximum,
        )


@cache
def documentation() -> tuple[FieldDocumentation, ...]:
    """All fields, in the order of the config; one that several methods or tasks know appears once."""
    merged: dict[str, FieldDocumentation] = {}
    for found in _fields(RunConfig, "", {}):
        known = merged.get(found.path)
        merged[found.path] = found if known is None else _merged(known, found)
    return tuple(merged.values())


def _merged(known: FieldDocumentation, other: FieldDocumentation) -> FieldDocumentation:
    """The field with what another method, or task, has otherwise."""
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


@cache
def method_types() -> tuple[str, ...]:
    """Every `method.type`."""
    return next(each.choices for each in documentation() if each.path == METHOD_TYPE)


@cache
def task_types() -> tuple[str, ...]:
    """Every `task.type`."""
    return next(each.choices for each in documentation() if each.path == TASK_TYPE)


def _members(annotation: Any) -> tuple[Any, ...]:
    """The parts of a (possibly annotated) union, or the annotation alone."""
    if hasattr(annotation, "__metadata__"):
        return _members(annotation.__origin__)
    if get_origin(annotation) in (Union, UnionType):
        return tuple(part for member in get_args(annotation) for part in _members(member))
    return (annotation,)


def _fields(section: type[BaseModel], prefix: str, types: Mapping[str, str]) -> Iterator[FieldDocumentation]:
    """`types`: of the method or task that the section belongs to, by `method` or `task`."""
    for name, info in section.model_fields.items():
        members = _members(info.annotation)
        sections = [member for member in members if isinstance(member, type) and issubclass(member, BaseModel)]
        if not sections:
            yield _document(section, name, info, members, prefix, types)
        for member in sections:
            own = {name: member.model_fields["type"].default} if name in ("method", "task") else types
            yield from _fields(member, f"{prefix}{name}.", own)


def _document(
    section: type[BaseModel],
    name: str,
    info: FieldInfo,
    members: tuple[Any, ...],
    prefix: str,
    types: Mapping[str, str],
) -> FieldDocumentation:
    schema = section.model_json_schema()["properties"][name]
    bounds = [schema, *schema.get("anyOf", [])]
    lows = [part[key] for part in bounds for key in ("minimum", "exclusiveMinimum") if key in part]
    highs = [part[key] for part in bounds for key in ("maximum", "exclusiveMaximum") if key in part]
    is_fraction = "Fraction" in str(info.annotation) or any("Fraction" in str(meta) for meta in info.metadata)
    if is_fraction:
        lows, highs = [0], [1]
    default = info.get_default(call_default_factory=True)
    return FieldDocumentation(
        path=prefix + name,
        description=_text(inspect.getdoc(section) if prefix + name == METHOD_TYPE else info.description),
        default=to_jsonable_python(default, fallback=format_fraction),
        kind=_kind(members, is_fraction=is_fraction),
        optional=type(None) in members,
        minimum=lows[0] if lows else None,
        maximum=highs[0] if highs else None,
        choices=_choices(members),
        method_types=(types["method"],) if "method" in types else (),
        task_types=(types["task"],) if "task" in types else (),
    )


def _text(description: str | None) -> str:
    return " ".join((description or "").split())


def _choices(members: tuple[Any, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for member in members:
        inner = [member, *get_args(member)] if get_origin(member) is frozenset else [member]
        for part in inner:
            if get_origin(part) is Literal:
                found.extend(str(choice) for choice in get_args(part))
    return tuple(found)


def _kind(members: tuple[Any, ...], *, is_fraction: bool) -> Any:
    origins = {get_origin(member) or member for member in members}
    if is_fraction:
        return "fraction_range" if tuple in origins else "fraction"
    if tuple in origins and any("str" in str(part) for member in members for part in get_args(member)):
        return "texts"
    for origin, kind in (
        (Literal, "choice"),
        (frozenset, "choices"),
        (tuple, "list"),
        (bool, "flag"),
        (float, "number"),
        (int, "integer"),
    ):
        if origin in origins:
            return kind
    return "text"
