"""Query parameters shared by the routes for recorded data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

from fastapi import Depends, Query

from backend.records.repository import StepRange

MAX_STEP = 2**31 - 1
MAX_KEYS = 500
"""Further names are not answered."""

FromStep = Annotated[int, Query(ge=0, le=MAX_STEP, description="First step.")]
ToStep = Annotated[int, Query(ge=0, le=MAX_STEP, description="Last step.")]
MaxPoints = Annotated[int | None, Query(ge=2, le=100_000, description="Most steps to return.")]
Cursor = Annotated[str | None, Query(max_length=2_000, description="`next_cursor` of the previous page.")]
Limit = Annotated[int, Query(ge=1, le=1_000)]


class StepWindow(NamedTuple):
    """Steps to be returned."""

    steps: StepRange
    max_points: int | None


def _window_from(first: int) -> Callable[[int, int, int | None], StepWindow]:
    def window(from_step: FromStep = first, to_step: ToStep = MAX_STEP, max_points: MaxPoints = None) -> StepWindow:
        return StepWindow(StepRange(from_step, to_step), max_points)

    return window


Window = Annotated[StepWindow, Depends(_window_from(0))]
"""All steps unless the request names fewer: step 0 is the evaluation before training."""
TrainingWindow = Annotated[StepWindow, Depends(_window_from(1))]
"""Training steps unless the request names others."""
