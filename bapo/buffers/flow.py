"""What entered and left a buffer in one step."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Flow:
    """Counts of one step; a buffer starts a new one when the step begins."""

    entered: int = 0
    """New prompts."""
    refreshed: int = 0
    """Prompts that were there and were stored again."""
    left_improved: int = 0
    """Prompts that a newer group lifted above c1."""
    evicted: int = 0
    """Pushed out by the capacity."""
    expired: int = 0
    """Removed for their age."""
