"""Declares metrics on the fields of records: name, title, unit and chart, in one place.

A scalar with a `Metric` is stored under its name, drawn on its tab of the run page, offered wherever metrics are
chosen, and explained by the string beneath its field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from bapo.config.descriptions import field_description
from bapo.config.method import Trait


@dataclass(frozen=True, slots=True)
class Metric:
    """The metric that a field is recorded as; on a part of a record, the prefix of its fields' names."""

    name: str
    """verl's name where verl has one, else `bapo/…`."""
    title: str = ""
    unit: str = ""
    question: str = ""
    """Question that its curve answers."""
    tab: str = ""
    """Tab of the run page with its chart; empty if it has no chart to itself."""
    only: Trait | None = None
    """Trait of the methods that it applies to."""
    is_share: bool = False
    """Drawn in percent."""
    is_mean_reward: bool = False
    """Drawn in percent only if all of its values lie between 0 and 1, as shares of right responses do."""
    is_signed: bool = False
    """True if its chart need not begin at 0."""
    only_recorded: bool = False
    """True if its chart is left out of a run that has not recorded it."""


@dataclass(frozen=True, slots=True)
class DeclaredMetric:
    """A metric under its whole name, with what the string beneath its field says."""

    name: str
    metric: Metric
    explanation: str


@cache
def metrics_in(model: type[BaseModel]) -> tuple[tuple[str, Metric, bool], ...]:
    """Return each field that is a metric or holds some, its declaration, and whether it is a scalar.

    A number without a declaration in a part of a record is a metric under its own name.
    """
    found = []
    for field, info in model.model_fields.items():
        declared = next((each for each in info.metadata if isinstance(each, Metric)), None)
        is_scalar = _is_number(info.annotation)
        if declared is None and is_scalar and not _is_line(model):
            declared = Metric(field)
        if declared is not None:
            found.append((field, declared, is_scalar))
    return tuple(found)


def declared_metrics(model: type[BaseModel], prefix: str = "") -> Iterator[DeclaredMetric]:
    """Yield the scalars of a record and of its parts."""
    for field, metric, is_scalar in metrics_in(model):
        if is_scalar:
            yield DeclaredMetric(prefix + metric.name, metric, field_description(model, field) or "")
        for part in _parts_of(model.model_fields[field].annotation):
            yield from declared_metrics(part, prefix + metric.name)


def _is_line(model: type[BaseModel]) -> bool:
    return "schema_" in model.model_fields


def _is_number(annotation: Any) -> bool:
    return {*_members(annotation)} - {NoneType} <= {int, float}


def _parts_of(annotation: Any) -> list[type[BaseModel]]:
    return [kind for kind in _members(annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _members(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
