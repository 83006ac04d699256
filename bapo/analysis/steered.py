"""The config of a run whose parameters were changed while it trained: what is in force, and since which step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from bapo.analysis.comparison import value_text
from bapo.analysis.result import AppliedChange
from bapo.config import apply_changes

FlatConfig = Mapping[str, Any]
"""By dotted field, as from `flattened`."""


def values_in_force(config: FlatConfig, changes: Sequence[AppliedChange]) -> dict[str, Any]:
    """Return the config with what was changed since, in order."""
    values = dict(config)
    for change in changes:
        values |= change.set
    return values


def config_in_force(config: Mapping[str, Any], changes: Sequence[AppliedChange]) -> dict[str, Any]:
    """Return the same for a config in sections."""
    return apply_changes(config, values_in_force({}, changes))


def courses(config: FlatConfig, changes: Sequence[AppliedChange]) -> dict[str, list[tuple[int, Any]]]:
    """Return each field that changed with its values and their first steps: {"method.c1": [(0, 0.125), (53, 0.25)]}.

    Step 0 stands for the config that the run was submitted with.
    """
    found: dict[str, list[tuple[int, Any]]] = {}
    for change in changes:
        for field, value in change.set.items():
            course = found.setdefault(field, [(0, config.get(field))])
            # The former value came to hold nowhere, or holds still.
            if course[-1][0] == change.step:
                course.pop()
            if not course or not same_value(course[-1][1], value):
                course.append((change.step, value))
    return {field: course for field, course in found.items() if len(course) > 1}


def course_text(course: Sequence[tuple[int, Any]]) -> str:
    """Return a field's values in words: "0.125 → 0.25 from step 53"."""
    (_, first), *later = course
    return " → ".join([value_text(first), *(f"{value_text(value)} from step {step:,}" for step, value in later)])


def steered_config(config: FlatConfig, changes: Sequence[AppliedChange]) -> dict[str, Any]:
    """Return the config with the whole course of each changed field as its value, for telling runs apart."""
    return dict(config) | {field: course_text(course) for field, course in courses(config, changes).items()}


def same_value(one: Any, other: Any) -> bool:
    """Return whether two values mean the same, such as `1/8` and 0.125."""
    return bool(_plain(one) == _plain(other))


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    try:
        return float(Fraction(value)) if isinstance(value, str) else value
    except (ValueError, ZeroDivisionError):
        return value
