"""Kinds of values that several methods have."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from bapo.config.fractions import ExactFraction


def _accuracy_below_one(value: Fraction) -> Fraction:
    if not 0 <= value < 1:
        raise ValueError("must be at least 0 and less than 1")
    return value


def _two_values(value: object) -> object:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError("must be two values, at r_tot = 0 and at r_tot = 1, such as [0.125, 0.5]")
    return value


Threshold = Annotated[ExactFraction, AfterValidator(_accuracy_below_one)]
ThresholdRange = Annotated[tuple[Threshold, Threshold], BeforeValidator(_two_values)]
StepInterval = Annotated[int, Field(ge=1, le=1_000_000)]
Capacity = Annotated[int, Field(ge=1, le=10_000_000)]
