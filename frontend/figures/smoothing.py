"""Moving means over steps."""

from __future__ import annotations

from collections.abc import Sequence

WINDOW_STEPS = 10
"""Steps that a smoothed line averages over, the newest included: as many as r_tot does."""


def moving_mean(values: Sequence[float | None], window: int = WINDOW_STEPS) -> list[float | None]:
    """Mean of the last `window` values, gaps left out; None where all of them are gaps."""
    means: list[float | None] = []
    for end in range(1, len(values) + 1):
        known = [value for value in values[max(0, end - window) : end] if value is not None]
        means.append(sum(known) / len(known) if known else None)
    return means
