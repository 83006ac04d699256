"""Everything that is wrong with a study file at once: its parts, what they say of one another, and its runs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bapo.config.error_messages import MOST_PROBLEMS, more
from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.method import METHODS
from bapo.study.declaration import (
    MOST_RUNS,
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
    """Findings of the check of a study file."""

    declaration: Declaration | None
    """`None` while anything is wrong."""
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
    # A placeholder for one part may uncover another problem.
    for _ in range(_MOST_ROUNDS):
        try:
            study = Declaration.model_validate(left, context=PARTS_ALONE)
            break
        except ValidationError as error:
            found = error.errors(include_url=False)
            refused = problems_in(error, given)
            # Where a member is wrong, the list that lacks it is not.
            deeper = sorted(each.field for each in refused)
            within = _Parts(stood_in)
            problems += [each for each in refused if each.field not in within and not _has_deeper(each.field, deeper)]
            left = _mended(left, found, stood_in)
    if study is None:
        return Examination(None, _first(problems), [], None, frozenset(stood_in))
    if stood_in & {"seeds", "regimes", "tuning"}:
        stood_in.add("num_runs")
    further, warnings = with_values(contradictions(study), given), []
    # Of too many runs none is looked at.
    if study.num_planned_runs <= MOST_RUNS:
        try:
            warnings = check(study)
        except ConfigError as error:
            further += error.problems
    within = _Parts(stood_in)
    problems += [each for each in further if each.field not in within]
    distinct = _first(list({str(each): each for each in problems}.values()))
    return Examination(None if distinct else study, distinct, warnings, study, frozenset(stood_in))


def checked(text: str) -> tuple[Declaration, Sequence[ConfigProblem]]:
    """Return the study of a file, and its warnings. Raises ConfigError with everything that is wrong."""
    found = examine(text)
    if found.declaration is None:
        raise ConfigError(found.problems)
    return found.declaration, found.warnings


class _Parts:
    """Parts of a file, asked whether a field is one of them or within one, without a look at each."""

    def __init__(self, parts: Collection[str]) -> None:
        self._parts = frozenset(parts)
        self._lengths = sorted({len(part) for part in parts})

    def __contains__(self, field: object) -> bool:
        assert isinstance(field, str)
        return any(
            field[:length] in self._parts
            for length in self._lengths
            if length == len(field) or field[length : length + 1] == "."
        )


def _has_deeper(field: str, fields: Sequence[str]) -> bool:
    """Return whether one of the sorted fields is within this one."""
    inside = f"{field}."
    place = bisect_left(fields, inside)
    return place < len(fields) and fields[place].startswith(inside)


def _first(problems: Sequence[ConfigProblem]) -> list[ConfigProblem]:
    """Return as many of the problems as are reported at once, and a note if there are more."""
    if len(problems) <= MOST_PROBLEMS:
        return list(problems)
    return [*problems[:MOST_PROBLEMS], more("study", len(problems) - MOST_PROBLEMS)]


def _mended(given: Mapping[str, Any], errors: Sequence[ErrorDetails], stood_in: set[str]) -> dict[str, Any]:
    """Return the declaration after each refused part was removed or replaced by a placeholder."""
    left = dict(given)
    # Each is copied once, however many of its members are refused.
    left |= {part: list(left[part]) for part in ("arms", "regimes") if isinstance(left.get(part), list)}
    for error in errors:
        place = error["loc"]
        part = str(place[0]) if place else ""
        if part in ("arms", "regimes") and len(place) > 1 and isinstance(place[1], int):
            name = _stand_in(left[part], part, place[1])
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


def _stand_in(members: list[Any], part: str, index: int) -> str:
    """Put an arm or regime that sets nothing in the place of a refused one; what that is called."""
    given = members[index]
    name = given.get("name") if isinstance(given, dict) else None
    try:
        known = Regime(name=name).name
    except ValidationError:
        known = f"{part} {index + 1}"
    members[index] = {"name": known} | ({} if part == "regimes" else {"method": METHODS.default.type_name()})
    return known
