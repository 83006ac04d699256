"""What a run's batches would have been under other thresholds, buffers or filters."""

from __future__ import annotations

from pydantic import Field

from bapo.analysis.what_if.answer import (
    DEFAULT_DRAWS,
    Band,
    ForecastBatches,
    RecordedBatches,
    WhatIfAnswer,
    WhatIfTotal,
)
from bapo.api.base import Body, JsonObject

__all__ = ["DEFAULT_DRAWS", "Band", "ForecastBatches", "RecordedBatches", "WhatIfAnswer", "WhatIfTotal"]


class WhatIfRequest(Body):
    """What to change; every other field keeps the value that it had in each step."""

    set: JsonObject = Field(default={}, examples=[{"method.c1": 0.25, "method.m": 2}])
    """Dotted fields and their new values, in force from the first step on."""
    draws: int = Field(default=DEFAULT_DRAWS, ge=2, le=200)
    """How often re-evaluations that never happened are drawn: more make the intervals steadier and take longer."""
    max_points: int | None = Field(default=None, ge=2, le=100_000)
    """At most about so many steps, with the extremes of each column. Empty: every step."""
