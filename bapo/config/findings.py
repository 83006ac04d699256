"""From what pydantic finds wrong with a config to field, value and remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bapo.config.documentation import documentation, method_types
from bapo.config.errors import ConfigProblem

_REMEDIES = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "literal_error": "must be {expected}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "tuple_type": "must be a list",
    "frozen_set_type": "must be a list",
}
"""Our words for pydantic's kinds of errors; the braces name its bounds."""

_LOOKALIKES = str.maketrans("lio", "110")


def problems_of(error: ValidationError) -> list[ConfigProblem]:
    """Everything that pydantic found, in the config's words.

    Our own validators may begin a message with `field|` to name the field that a rule between fields concerns.
    """
    return [_problem(finding) for finding in error.errors(include_url=False)]


def _problem(finding: ErrorDetails) -> ConfigProblem:
    # Places in a list are not part of a field's name.
    path = [part for part in finding["loc"] if isinstance(part, str)]
    # A union puts the chosen member's tag into the path ("method", "bapo", "c1").
    method_type = path.pop(1) if len(path) > 1 and path[0] == "method" and path[1] in method_types() else None
    field, value, context = ".".join(path), finding["input"], finding.get("ctx", {})
    match finding["type"]:
        case "extra_forbidden":
            return ConfigProblem(field, value, _unknown_field(field, method_type))
        case "union_tag_invalid":
            return _unknown_method(value["type"])
        case "model_type" | "model_attributes_type":
            return ConfigProblem(field or "config", value, f"must hold fields: {_choice(_members(field, method_type))}")
        case "value_error":
            return _broken_rule(field, value, str(context["error"]))
        case kind if kind in _REMEDIES:
            return ConfigProblem(field, value, _REMEDIES[kind].format(**context))
        case _:
            return ConfigProblem(field, value, finding["msg"][0].lower() + finding["msg"][1:])


def _broken_rule(field: str, value: Any, message: str) -> ConfigProblem:
    """What one of our own validators says."""
    named, separator, remedy = message.partition("|")
    if not separator or " " in named:
        return ConfigProblem(field, value, message)
    return ConfigProblem(named, _value_at(value, named), remedy)


def _unknown_method(method_type: object) -> ConfigProblem:
    near = _nearest(str(method_type), method_types())
    remedy = "no such method: " + (f"did you mean {near}?" if near else f"take {_choice(method_types())}")
    return ConfigProblem("method.type", method_type, remedy)


def _unknown_field(field: str, method_type: str | None) -> str:
    """Where the field belongs, or which known one looks most like it."""
    section, _, name = field.rpartition(".")
    owners = {
        owner
        for known in documentation()
        if known.path == field or known.path.startswith(f"{field}.")
        for owner in known.method_types
    }
    if owners:
        belongs = _choice((owner for owner in method_types() if owner in owners), "and")
        return f"{method_type} has no {name}; it belongs to {belongs}: remove it, or change method.type"
    members = _members(section, method_type)
    elsewhere = [path for path in _paths(method_type) if path.rpartition(".")[2] == name]
    near = _nearest(name, members)
    if elsewhere:
        guess = f"did you mean {_choice(elsewhere)}?"
    elif near:
        guess = f"did you mean {section}.{near}?" if section else f"did you mean {near}?"
    elif members:
        guess = f"take {_choice(members)}"
    else:
        guess = "remove it"
    return f"no such {'field' if section else 'section'}: {guess}"


def _paths(method_type: str | None) -> list[str]:
    """Every field that this method knows."""
    return [
        known.path
        for known in documentation()
        if not known.method_types or method_type is None or method_type in known.method_types
    ]


def _members(section: str, method_type: str | None) -> list[str]:
    """Fields and sections right under a section."""
    prefix = f"{section}." if section else ""
    inside = (path.removeprefix(prefix) for path in _paths(method_type) if path.startswith(prefix))
    return list(dict.fromkeys(path.partition(".")[0] for path in inside))


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like this one; an l counts as a 1 and an o as a 0."""
    by_look = {each.casefold().translate(_LOOKALIKES): each for each in known}
    found = difflib.get_close_matches(name.casefold().translate(_LOOKALIKES), by_look, n=1, cutoff=0.6)
    return by_look[found[0]] if found else None


def _choice(names: Iterable[str], conjunction: str = "or") -> str:
    """`a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def _value_at(given: Any, field: str) -> Any:
    """The value of the dotted field in the input of a failed section, or None."""
    for part in field.split("."):
        # The input may be the section itself, and then holds no part of that name.
        if isinstance(given, dict) and part in given:
            given = given[part]
    return None if isinstance(given, dict) else given
