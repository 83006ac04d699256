"""The thresholds of a step exactly, and other ones in their place."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from bapo.config import ConfigError, ConfigProblem
from bapo.config.fractions import parse_fraction
from bapo.records import ThresholdValues

_LARGEST_DENOMINATOR = 10_000_000
"""Largest denominator of c2 and c3: G times the responses of ten steps, and a few more for the ends of their ranges."""


class ChosenThresholds(NamedTuple):
    """c1, c2 and c3 of one step."""

    c1: Fraction
    c2: Fraction
    c3: Fraction


class Wanted(NamedTuple):
    """Other thresholds, as text or numbers; None keeps the step's own."""

    c1: Any = None
    c2: Any = None
    c3: Any = None

    @property
    def is_empty(self) -> bool:
        """True if all thresholds are the step's own."""
        return all(value is None for value in self)


def recorded_thresholds(values: ThresholdValues) -> ChosenThresholds:
    """Return the thresholds that a step recorded, as the fractions that they were computed as."""
    return ChosenThresholds(*(_exact(value) for value in (values.c1, values.c2, values.c3)))


def _exact(value: float | None) -> Fraction:
    return Fraction(value or 0).limit_denominator(_LARGEST_DENOMINATOR)


def chosen(own: ChosenThresholds, wanted: Wanted) -> ChosenThresholds:
    """Return the step's thresholds with the wanted ones in place. Raises ConfigError naming field, value and remedy."""
    problems: list[ConfigProblem] = []
    values: dict[str, Fraction] = {}
    for name, value in wanted._asdict().items():
        if value is None:
            continue
        try:
            values[name] = parse_fraction(value)
        except ValueError as error:
            problems.append(ConfigProblem(name, value, str(error)))
            continue
        if not 0 <= values[name] < 1:
            problems.append(ConfigProblem(name, value, "must be at least 0 and less than 1"))
    found = own._replace(**values)
    if not problems and found.c2 > found.c3:
        name = "c2" if wanted.c2 is not None else "c3"
        remedy = f"c2 = {float(found.c2):.4g} is above c3 = {float(found.c3):.4g}: lower c2, or raise c3 as well"
        problems.append(ConfigProblem(name, wanted._asdict()[name], remedy))
    if problems:
        raise ConfigError(problems)
    return found
