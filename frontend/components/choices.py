"""Choices of selects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import dash_mantine_components as dmc

from frontend.projects import first_choice


def choices(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return (value, label) pairs as a select takes them."""
    return [{"value": value, "label": label} for value, label in pairs]


def project_select(
    identifier: str, projects: Sequence[str], chosen: str | None = None, **properties: Any
) -> dmc.Select:
    """Return a select of the project that something new belongs to, hidden if there is only one."""
    return dmc.Select(
        id=identifier,
        label="Project",
        data=list(projects),
        value=first_choice(projects, chosen),
        allowDeselect=False,
        placeholder="Choose a project",
        style={"display": "none"} if len(projects) == 1 else {},
        **properties,
    )
