"""Parses, shows and compares config values as they are typed."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from bapo.api.configs import ConfigFieldInfo
from bapo.config.fractions import parse_fraction
from bapo.figures.formatting import config_value

LARGEST_DENOMINATOR = 64
"""Fractions up to this denominator are shown as such: thresholds are accuracies k/G."""

ON, OFF = "on", "off"
_INTEGER = re.compile(r"[-+]?\d+")

_SPAN = re.compile(r"(-?\d+)\s*\.\.\s*(-?\d+)")
_LISTED = ("fraction_range", "list", "texts", "choices")
"""Kinds whose values have parts, so that a semicolon parts the values."""

Typed = Mapping[str, Sequence[Any]]
"""Field path → the values of its inputs, one or two."""


class FormField(NamedTuple):
    """A field and the value that it starts from."""

    info: ConfigFieldInfo
    base: Any


def shown(info: ConfigFieldInfo, value: Any) -> list[Any]:
    """Return a config value as the values of the field's inputs."""
    match info.kind:
        case "fraction":
            return [_fraction_text(value)]
        case "fraction_range":
            return [_fraction_text(bound) for bound in value] if value else ["", ""]
        case "flag":
            return [ON if value else OFF]
        case "choices":
            return [list(value or ())]
        case "texts":
            return [", ".join(map(_quoted, value or ()))]
        case _:
            return [config_value(value)]


def _quoted(text: str) -> str:
    """Return the text as a part of a list: in quotes, as CSV has them, where it would be read as something else."""
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if "," in text or text.startswith('"') else text


def _fraction_text(value: Any) -> str:
    if value is None:
        return ""
    exact = parse_fraction(value)
    if exact.denominator == 1 or exact.denominator > LARGEST_DENOMINATOR:
        return config_value(value)
    return f"{exact.numerator}/{exact.denominator}"


def parsed(info: ConfigFieldInfo, inputs: Sequence[Any]) -> Any:
    """Return the config value that the inputs mean; text that is no such value goes to the server as typed."""
    match info.kind:
        case "fraction_range":
            return [_text(part) for part in inputs]
        case "flag":
            return inputs[0] == ON
        case "choices":
            return sorted(inputs[0] or ())
        case "list" | "texts":
            return _parts(info.kind, _text(inputs[0]))
    text = _text(inputs[0])
    if not text and info.optional:
        return None
    return _number(text) if info.kind in ("integer", "number") else text


def _parts(kind: str, text: str) -> list[Any]:
    """Split a list of texts at commas outside quotes, a list of numbers at commas and blanks."""
    if kind == "texts":
        try:
            rows = list(csv.reader(text.splitlines(), skipinitialspace=True))
        except csv.Error:
            # A quote that does not end, before very many texts.
            return [text]
        return [part.strip() for row in rows for part in row if part.strip()]
    return [_number(part) for part in text.replace(",", " ").split()]


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _number(text: str) -> Any:
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def same(info: ConfigFieldInfo, left: Any, right: Any) -> bool:
    """Return whether two values of a field are equal: `1/8`, `"0.125"` and 0.125 are."""
    if info.kind in ("fraction", "fraction_range"):
        return bool(_exact(left) == _exact(right))
    if info.kind == "choices":
        return sorted(left or ()) == sorted(right or ())
    if info.kind in ("list", "texts"):
        return list(left or ()) == list(right or ())
    return bool(left == right)


def _exact(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_exact(part) for part in value]
    try:
        return parse_fraction(value)
    except ValueError:
        return value if isinstance(value, Fraction) else str(value)


def changes(fields: Sequence[FormField], typed: Typed, method: str, task: str) -> dict[str, Any]:
    """Return the fields that differ from where the form started; those that method or task do not know are left out."""
    changed = {}
    for info, base in fields:
        if info.path not in typed or not knows(info, method, task):
            continue
        value = parsed(info, typed[info.path])
        if not same(info, value, base):
            changed[info.path] = value
    return changed


def of_types(info: ConfigFieldInfo, method: str, task: str) -> ConfigFieldInfo:
    """Return the field as it is in one method and of one type of tasks."""
    variant = info.variants.get(method) or info.variants.get(task)
    return info if variant is None else info.model_copy(update=variant.model_dump())


def knows(info: ConfigFieldInfo, method: str, task: str | None = None) -> bool:
    """Return whether the method has the field, and the task, where one is given."""
    is_of_method = not info.method_types or method in info.method_types
    return is_of_method and (task is None or not info.task_types or task in info.task_types)


def values_of(info: ConfigFieldInfo, text: str) -> list[Any]:
    """Return the values that a text lists."""
    if info.kind in _LISTED:
        parts = [part.strip() for part in text.split(";") if part.strip()]
        return [_with_parts(info, part) for part in parts]
    found: list[Any] = []
    for part in (each.strip() for each in text.split(",")):
        span = _SPAN.fullmatch(part) if info.kind == "integer" else None
        if span is not None:
            first, last = int(span[1]), int(span[2])
            # The server refuses what is too many; the form need not hold it.
            found += range(first, min(last, first + 1_000) + 1)
        elif part:
            found.append(_flag(part) if info.kind == "flag" else parsed(info, [part]))
    return found


def _with_parts(info: ConfigFieldInfo, text: str) -> Any:
    parts = text.replace(",", " ").split()
    if info.kind == "choices":
        return sorted(parts)
    return parts if info.kind == "fraction_range" else parsed(info, [text])


def _flag(text: str) -> Any:
    return {"on": True, "true": True, "off": False, "false": False}.get(text.lower(), text)


def listed(info: ConfigFieldInfo, values: Sequence[Any]) -> str:
    """Return the text that lists these values, as `values_of` reads it."""
    separator = "; " if info.kind in _LISTED else ", "
    return separator.join(_one_text(info, value) for value in values)


def _one_text(info: ConfigFieldInfo, value: Any) -> str:
    parts = shown(info, value)
    return " ".join(map(str, parts[0] if isinstance(parts[0], list) else parts))
