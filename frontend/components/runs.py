"""Runs on several pages: their state, their compute, when they can stop, and those of a group."""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html

from bapo.api.compare import MOST_COMPARED
from bapo.api.runs import RunStatus, RunSummary
from bapo.client import AsyncClient
from bapo.figures import formatting
from bapo.figures.theme import STATUS_COLOURS
from bapo.methods.grpo import GrpoConfig
from bapo.run.control import StopMoment
from frontend.components.elements import attributes

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


def compute_text(run: RunSummary) -> str:
    """Return GPU-hours; slot-hours for a run without a GPU."""
    if not run.compute_hours:
        return formatting.MISSING
    return f"{formatting.hours(run.compute_hours)} {'GPU-h' if run.num_gpus else 'slot-h'}"


MOMENTS: tuple[tuple[StopMoment, str, str], ...] = (
    ("checkpoint", "After the next regular checkpoint", "Nothing is lost, and no checkpoint is written for it."),
    ("step", "At the next step boundary", "Nothing is lost: a checkpoint is written first."),
    ("now", "Now", "Within seconds; the steps after the newest checkpoint are lost, with the one under way."),
)
"""Moment, name and cost, from the most patient to the least."""


def sooner_than(moment: StopMoment | None) -> StopMoment:
    """Return the moment to offer: the usual one, or the next sooner than the one requested already."""
    names = [name for name, _, _ in MOMENTS]
    return "step" if moment is None else names[min(names.index(moment) + 1, len(names) - 1)]


def stop_choices(identifier: str) -> dmc.RadioGroup:
    """Return the choice of the moment, for a confirm dialog."""
    return dmc.RadioGroup(
        dmc.Stack([dmc.Radio(value=name, label=label, description=text) for name, label, text in MOMENTS], gap="xs"),
        id=identifier,
        label="When",
        value="step",
        size="sm",
    )


async def runs_of_group(client: AsyncClient, name: str) -> list[RunSummary]:
    """Return the newest runs that can be compared at once: GRPO first, the usual reference, then by age."""
    found = await client.runs(group=[name], sort="-created_at", limit=MOST_COMPARED)
    return sorted(found.items, key=lambda run: (run.method != GrpoConfig.type_name(), run.created_at))
