"""What-if analysis of a run under other thresholds, buffers or filters, as DAPO, or with other group sizes."""

from __future__ import annotations

from pydantic import Field

from bapo.analysis.what_if.answer import (
    DEFAULT_DRAWS,
    Band,
    ForecastBatches,
    RecordedBatches,
    WhatIfAnswer,
    WhatIfTotal,
    WhatIfTotals,
)
from bapo.api.base import Body, JsonObject

__all__ = ["DEFAULT_DRAWS", "Band", "ForecastBatches", "RecordedBatches", "WhatIfAnswer", "WhatIfTotal", "WhatIfTotals"]


class WhatIfRequest(Body):
    """Fields to change; other fields keep the values that they had in each step."""

    set: JsonObject = Field(default={}, examples=[{"method.c1": 0.25, "method.m": 2}])
    """Dotted fields and their new values, from the first step on."""
    draws: int = Field(default=DEFAULT_DRAWS, ge=2, le=200)
    """Number of random draws of answers that no policy gave: re-evaluations that never happened, DAPO's further rounds,
    groups of another size. More draws give steadier intervals."""
    max_points: int | None = Field(default=None, ge=2, le=100_000)
    """About this many steps at most, keeping the extremes of each column. Empty: every step."""
