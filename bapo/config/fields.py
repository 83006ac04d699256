"""One field of a config section: meaning, range and default, read off its class."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from bapo.config.descriptions import field_description
from bapo.config.fractions import format_fraction
from bapo.config.section import TypedSection


@dataclass(frozen=True, slots=True)
class FieldVariant:
    """A field's properties in one method, or for one type of tasks, where they differ."""

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
    method_types: tuple[str, ...] = ()
    """Methods that know the field; empty for fields of all methods."""
    task_types: tuple[str, ...] = ()
    """Types of tasks that know the field; empty for fields of all tasks."""
    variants: Mapping[str, FieldVariant] = field(default_factory=dict)
    """Method, or type of tasks → its values where they differ from the above, which are those of the first."""

    def of_type(self, name: str) -> FieldDocumentation:
        """Return the field as one method, or one type of tasks, has it."""
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


def _members(annotation: Any) -> tuple[Any, ...]:
    """Return the parts of a (possibly annotated) union, or the annotation alone."""
    if hasattr(annotation, "__metadata__"):
        return _members(annotation.__origin__)
    if get_origin(annotation) in (Union, UnionType):
        return tuple(part for member in get_args(annotation) for part in _members(member))
    return (annotation,)


def section_fields(section: type[BaseModel], prefix: str) -> Iterator[FieldDocumentation]:
    """Yield the fields of a section and of those in it, in their order; `prefix` as in `method.`."""
    properties = section.model_json_schema()["properties"]
    for name, info in section.model_fields.items():
        members = _members(info.annotation)
        sections = [member for member in members if isinstance(member, type) and issubclass(member, BaseModel)]
        if not sections:
            yield _document(section, name, info, members, prefix, properties[name])
        for member in sections:
            yield from section_fields(member, f"{prefix}{name}.")


def _document(
    section: type[BaseModel],
    name: str,
    info: FieldInfo,
    members: tuple[Any, ...],
    prefix: str,
    schema: Mapping[str, Any],
) -> FieldDocumentation:
    bounds = [schema, *schema.get("anyOf", [])]
    lows = [part[key] for part in bounds for key in ("minimum", "exclusiveMinimum") if key in part]
    highs = [part[key] for part in bounds for key in ("maximum", "exclusiveMaximum") if key in part]
    is_fraction = "Fraction" in str(info.annotation) or any("Fraction" in str(meta) for meta in info.metadata)
    if is_fraction:
        lows, highs = [0], [1]
    default = info.get_default(call_default_factory=True)
    names_its_class = name == "type" and issubclass(section, TypedSection)
    return FieldDocumentation(
        path=prefix + name,
        description=_text(inspect.getdoc(section) if names_its_class else field_description(section, name)),
        default=to_jsonable_python(default, fallback=format_fraction),
        kind=_kind(members, is_fraction=is_fraction),
        optional=type(None) in members,
        minimum=lows[0] if lows else None,
        maximum=highs[0] if highs else None,
        choices=_choices(members),
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
