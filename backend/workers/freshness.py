"""Decides when a worker counts as online."""

from __future__ import annotations

from backend.settings.environment import Settings


def fresh_seconds(settings: Settings) -> float:
    """Return a worker that was not heard of for so long gets no new runs."""
    return 3 * settings.heartbeat_seconds + 1
