"""Decides when a worker counts as online."""

from __future__ import annotations

from backend.settings.environment import Settings


def fresh_seconds(settings: Settings) -> float:
    """Return the seconds without a heartbeat after which a worker gets no new runs."""
    return 3 * settings.heartbeat_seconds + 1
