"""Query parameters shared by the routes for recorded data."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

MAX_STEP = 2**31 - 1
MAX_KEYS = 500
"""Further names are not answered."""

FromStep = Annotated[int, Query(ge=0, le=MAX_STEP, description="First step.")]
ToStep = Annotated[int, Query(ge=0, le=MAX_STEP, description="Last step.")]
MaxPoints = Annotated[int | None, Query(ge=2, le=100_000, description="Most steps to return.")]
Cursor = Annotated[str | None, Query(max_length=2_000, description="`next_cursor` of the previous page.")]
Limit = Annotated[int, Query(ge=1, le=1_000)]
