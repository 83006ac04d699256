"""The three moments at which a stop can end a run's attempt, with what each costs."""

from __future__ import annotations

import dash_mantine_components as dmc

from bapo.run.control import StopMoment

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
