"""Counts of entries that entered and left a buffer in one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bapo.records import BufferState


@dataclass(slots=True)
class Flow:
    """Counts of one step; a buffer starts a new one when the step begins."""

    entered: int = 0
    """New prompts."""
    refreshed: int = 0
    """Prompts that were already stored, and were replaced."""
    left_improved: int = 0
    """Prompts whose accuracy a newer group raised above c1."""
    evicted: int = 0
    """Removed to keep within the capacity."""
    expired: int = 0
    """Removed for their age."""

    def state(self, ages: Sequence[int], capacity: int | None) -> BufferState:
        """Return the buffer after the step, from its entries' ages in steps, oldest first, and this flow."""
        return BufferState(
            size=len(ages),
            capacity=capacity,
            age_mean=sum(ages) / len(ages) if ages else None,
            age_max=ages[0] if ages else None,
            **asdict(self),
        )
