"""The wording of pydantic's errors: field, value and remedy."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bapo.config import errors, patterns
from bapo.config.documentation import documentation, method_types, task_types
from bapo.config.errors import ConfigProblem
from bapo.config.fields import FieldDocumentation

_REMEDIES = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "decimal_type": "must be a number",
    "decimal_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "tuple_type": "must be a list",
    "frozen_set_type": "must be a list",
    "list_type": "must be a list",
    "sequence_str": "must be a list",
    "dict_type": "must hold fields",
    "mapping_type": "must hold fields",
    "model_type": "must hold fields",
    "model_attributes_type": "must hold fields",
    "too_short": "must have at least {min_length}",
    "too_long": "must have at most {max_length}",
}
"""Our words for pydantic's kinds of errors; the braces name its bounds."""

_TYPES: Mapping[str, Callable[[], tuple[str, ...]]] = {"method": method_types, "task": task_types}
"""Types of the sections that have several."""

MOST_PROBLEMS = 200
"""Maximum number of problems reported about a config or a study file."""
MOST_SAID = 3
"""Maximum number of problems reported about a list: each number may be wrong."""
_LOOKALIKES = str.maketrans("lio", "110")


def said(finding: ErrorDetails) -> str:
    """Return the remedy for an invalid field of a body or a file, in our words if we have any."""
    kind, message, context = finding["type"], finding["msg"], finding.get("ctx", {})
    match kind:
        case "missing" | "union_tag_not_found":
            return "is missing: add it"
        case "extra_forbidden":
            return "no such field: remove it"
        case "string_too_short" | "too_short" if context["min_length"] == 1:
            return "is empty: fill it in"
        case "is_instance_of" if context["class"] == "Sequence":
            return "must be a list"
        case "value_error":
            message = str(context["error"])
        case _ if kind in _REMEDIES:
            message = _remedy(finding)
        case "string_pattern_mismatch":
            # A plugin's sections have patterns of their own.
            message = patterns.IN_WORDS.get(context["pattern"], message)
        case "union_tag_invalid":
            message = "must be " + " or ".join(context["expected_tags"].rsplit(", ", 1))
    return message[0].lower() + message[1:]


def error_said(error: ValidationError) -> str:
    """Return what is wrong with a document or a line of a file, for the end of a message; the first few faults do."""
    first, rest = error.errors()[:MOST_SAID], error.error_count() - MOST_SAID
    faults = [": ".join(filter(None, (problem.field, problem.remedy))) for problem in problems_said(first)]
    return "; ".join([*faults, f"and {rest:,} more"] if rest > 0 else faults)


def problems_said(findings: Iterable[ErrorDetails]) -> list[ConfigProblem]:
    """Return what pydantic found wrong with a body or a file, each at the path that its author wrote."""
    return [_problem_said(finding) for finding in findings]


def _problem_said(finding: ErrorDetails) -> ConfigProblem:
    path, value, context = list(finding["loc"]), finding["input"], finding.get("ctx", {})
    # pydantic's paths contain the kind of a panel or a condition, ("panels", 0, "chart", "y"), which the author did not
    # write.
    match path:
        case ["panels", int(), _, *_]:
            del path[2]
        case ["condition", _, *_]:
            del path[1]
    match finding["type"]:
        case "missing":
            value = None  # Else all that is around it.
        case "union_tag_not_found" | "union_tag_invalid":
            path.append(context["discriminator"].strip("'"))
            value = context.get("tag")
    return ConfigProblem(".".join(map(str, path)), value, said(finding))


def problems_of(error: ValidationError) -> list[ConfigProblem]:
    """Return everything that pydantic found, in the config's terms; of a long list the first, and how many follow."""
    findings = error.errors(include_url=False)
    # Finding the name that was meant takes a millisecond each.
    problems = [problem_of(finding) for finding in findings[:MOST_PROBLEMS]]
    return problems if len(findings) <= MOST_PROBLEMS else [*problems, more("config", len(findings) - MOST_PROBLEMS)]


def more(field: str, number: int) -> ConfigProblem:
    """Return what is said in the place of so many further problems."""
    return ConfigProblem(field, None, f"{number:,} more problems are not shown: correct these first")


def problem_of(finding: ErrorDetails) -> ConfigProblem:
    """Return one of pydantic's findings in the config's terms."""
    # Places in a list are not part of a field's name.
    path = [part for part in finding["loc"] if isinstance(part, str)]
    # A union puts the chosen member's tag into the path ("method", "bapo", "c1").
    is_tagged = len(path) > 1 and path[1] in _TYPES.get(path[0], tuple)()
    types = {path[0]: path.pop(1)} if is_tagged else {}
    field, value, context = ".".join(path), finding["input"], finding.get("ctx", {})
    match finding["type"]:
        case "extra_forbidden":
            return ConfigProblem(field, value, _unknown_field(field, types))
        case "union_tag_invalid":
            return _unknown_type(field, value["type"])
        case "model_type" | "model_attributes_type":
            return ConfigProblem(field or "config", value, f"must hold fields: {_choice(_members(field, types))}")
        case errors.BROKEN_RULE:
            return ConfigProblem(context["field"], _value_at(value, context["field"]), context["remedy"])
        case "value_error":
            return ConfigProblem(field, value, str(context["error"]))
        case _:
            return ConfigProblem(field, value, said(finding))


def _remedy(finding: ErrorDetails) -> str:
    """Return our words for a kind of error, with its bounds: 1, and not 1.0."""
    bounds = {
        name: int(bound) if isinstance(bound, float) and bound.is_integer() else bound
        for name, bound in finding.get("ctx", {}).items()
    }
    return _REMEDIES[finding["type"]].format(**bounds)


def _unknown_type(section: str, given: object) -> ConfigProblem:
    known = _TYPES[section]()
    near = _nearest(str(given), known)
    remedy = f"no such {section}: " + (f"did you mean {near}?" if near else f"take {_choice(known)}")
    return ConfigProblem(f"{section}.type", given, remedy)


def _unknown_field(field: str, types: Mapping[str, str]) -> str:
    """Return the section that a field belongs to, or the known field most similar to it."""
    section, _, name = field.rpartition(".")
    for typed, own in types.items():
        owners = {
            owner
            for known in documentation()
            if known.path == field or known.path.startswith(f"{field}.")
            for owner in _owners(known, typed)
        }
        if owners:
            belongs = _choice((owner for owner in _TYPES[typed]() if owner in owners), "and")
            return f"{own} has no {name}; it belongs to {belongs}: remove it, or change {typed}.type"
    members = _members(section, types)
    elsewhere = [path for path in _paths(types) if path.rpartition(".")[2] == name]
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


def _paths(types: Mapping[str, str]) -> list[str]:
    """Return every field that this method, or this task, knows."""
    return [
        known.path
        for known in documentation()
        if all(not _owners(known, typed) or own in _owners(known, typed) for typed, own in types.items())
    ]


def _owners(known: FieldDocumentation, typed: str) -> tuple[str, ...]:
    """Return the types of method, or of task, that know the field."""
    return known.method_types if typed == "method" else known.task_types


def _members(section: str, types: Mapping[str, str]) -> list[str]:
    """Return the fields and sections right under a section."""
    prefix = f"{section}." if section else ""
    inside = (path.removeprefix(prefix) for path in _paths(types) if path.startswith(prefix))
    return list(dict.fromkeys(path.partition(".")[0] for path in inside))


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to this one; an l counts as a 1 and an o as a 0."""
    by_look = {each.casefold().translate(_LOOKALIKES): each for each in known}
    found = difflib.get_close_matches(name.casefold().translate(_LOOKALIKES), by_look, n=1, cutoff=0.6)
    return by_look[found[0]] if found else None


def _choice(names: Iterable[str], conjunction: str = "or") -> str:
    """Return `a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def _value_at(given: Any, field: str) -> Any:
    """Return the value of the dotted field in the input of a failed section, or None."""
    for part in field.split("."):
        # The input may be the section itself, and then holds no part of that name.
        if isinstance(given, dict) and part in given:
            given = given[part]
    return None if isinstance(given, dict) else given
