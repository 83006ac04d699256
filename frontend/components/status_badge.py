"""The state of a run as a coloured badge."""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html

from bapo.api.runs import RunStatus
from bapo.figures.theme import STATUS_COLOURS
from frontend.components.attributes import attributes

MOVING = frozenset({RunStatus.STARTING, RunStatus.RUNNING, RunStatus.PAUSING, RunStatus.STOPPING})
"""States with a breathing dot: something is happening."""


def status_badge(status: RunStatus, size: str = "md") -> dmc.Badge:
    """Return colour and word; the dot breathes while a trainer works."""
    dot = html.Span(className="status-dot moving" if status in MOVING else "status-dot")
    return dmc.Badge(
        status.value,
        color=STATUS_COLOURS[status],
        size=size,
        variant="outline" if status is RunStatus.DRAFT else "light",
        leftSection=dot,
        className="status-badge",
        **attributes(data_status=status.value),
    )
