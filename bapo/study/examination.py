"""Everything that is wrong with a study file at once: its parts, what they say of one another, and its runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.method import METHODS
from bapo.study.declaration import (
    PARTS_ALONE,
    Declaration,
    Regime,
    contradictions,
    problems_in,
    table_of,
    with_values,
)
from bapo.study.plan import check

_STANDINS: Mapping[str, Any] = {"title": "?", "question": "?", "seeds": [1], "num_runs": 1, "test_sets": ["?"]}
"""In the place of required parts that cannot be read."""
_MOST_ROUNDS = 4


class Examination(NamedTuple):
    """What was found in a study file."""

    declaration: Declaration | None
    """None while anything is wrong."""
    problems: Sequence[ConfigProblem]
    warnings: Sequence[ConfigProblem]
    readable: Declaration | None
    """The study with stand-ins for what cannot be read; None where too little can be."""
    stood_in: frozenset[str]
    """Parts of `readable` that are not what the file says."""


def examine(text: str) -> Examination:
    """Read a study file and check all that can be checked, whatever else is wrong with it."""
    try:
        given = table_of(text)
    except ConfigError as error:
        return Examination(None, error.problems, [], None, frozenset())
    problems: list[ConfigProblem] = []
    stood_in: set[str] = set()
    study, left = None, given
    # What stands in for one part may uncover another.
    for _ in range(_MOST_ROUNDS):
        try:
            study = Declaration.model_validate(left, context=PARTS_ALONE)
            break
        except ValidationError as error:
            found = error.errors(include_url=False)
            told = problems_in(error, given)
            # Where a member is wrong, the list that lacks it is not.
            deeper = [each.field for each in told]
            problems += [
                each
                for each in told
                if not _is_within(each.field, stood_in)
                and not any(other.startswith(f"{each.field}.") for other in deeper)
            ]
            left = _mended(left, found, stood_in)
    if study is None:
        return Examination(None, problems, [], None, frozenset(stood_in))
    if stood_in & {"seeds", "regimes", "tuning"}:
        stood_in.add("num_runs")
    further, warnings = with_values(contradictions(study), given), []
    try:
        warnings = check(study)
    except ConfigError as error:
        further += error.problems
    problems += [each for each in further if not _is_within(each.field, stood_in)]
    distinct = list({str(each): each for each in problems}.values())
    return Examination(None if distinct else study, distinct, warnings, study, frozenset(stood_in))


def checked(text: str) -> tuple[Declaration, Sequence[ConfigProblem]]:
    """The study of a file, and its warnings. Raises ConfigError with everything that is wrong."""
    found = examine(text)
    if found.declaration is None:
        raise ConfigError(found.problems)
    return found.declaration, found.warnings


def _is_within(field: str, parts: Collection[str]) -> bool:
    return any(field == part or field.startswith(f"{part}.") for part in parts)


def _mended(given: Mapping[str, Any], errors: Sequence[ErrorDetails], stood_in: set[str]) -> dict[str, Any]:
    """What is left once each refused part is taken out, or something stands in for it."""
    left = dict(given)
    for error in errors:
        place = error["loc"]
        part = str(place[0]) if place else ""
        if part in ("arms", "regimes") and len(place) > 1 and isinstance(place[1], int):
            left[part], name = _with_standin(left[part], part, place[1])
            stood_in |= {f"{part}.{name}", f"{part}.{place[1]}"}
            continue
        stood_in.add(part)
        if part in _STANDINS:
            left[part] = _STANDINS[part]
        elif part != "primary":
            left.pop(part, None)
    names = [arm["name"] for arm in left.get("arms", ()) if isinstance(arm, dict) and isinstance(arm.get("name"), str)]
    if names and "primary" in stood_in:
        left["primary"] = {"arm": names[0], "against": names[-1]}
    return left


def _with_standin(members: Sequence[Any], part: str, index: int) -> tuple[list[Any], str]:
    """The arms or regimes with one that sets nothing in the place of a refused one, and what that is called."""
    given = members[index]
    name = given.get("name") if isinstance(given, dict) else None
    try:
        known = Regime(name=name).name
    except ValidationError:
        known = f"{part} {index + 1}"
    standin = {"name": known} if part == "regimes" else {"name": known, "method": METHODS.default.type_name()}
    return [standin if place == index else each for place, each in enumerate(members)], known
