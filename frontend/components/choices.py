"""Choices of selects, and the project, of those of the caller, that something new belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import dash_mantine_components as dmc

from bapo.api.accounts import UserInfo


def choices(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return (value, label) pairs as a select takes them."""
    return [{"value": value, "label": label} for value, label in pairs]


def select(identifier: Any, label: str, value: Any, data: Sequence[Any], **properties: Any) -> dmc.Select:
    """Return a select with a label, of which one option is always chosen."""
    return dmc.Select(id=identifier, label=label, value=value, data=data, allowDeselect=False, **properties)


def project_select(
    identifier: str, projects: Sequence[str], chosen: str | None = None, **properties: Any
) -> dmc.Select:
    """Return a select of the project that something new belongs to, hidden if there is only one."""
    return select(
        identifier,
        "Project",
        first_choice(projects, chosen),
        list(projects),
        placeholder="Choose a project",
        style={"display": "none"} if len(projects) == 1 else {},
        **properties,
    )


ROLE_CHOICES = choices((("viewer", "viewer"), ("member", "member"), ("admin", "administrator")))


DEFAULT_PROJECT = "default"


def writable_projects(me: UserInfo) -> list[str]:
    """Return the names of the projects that the caller may add to."""
    return [each.name for each in me.projects if each.role != "viewer" and not each.is_archived]


def first_choice(projects: Sequence[str], wanted: str | None) -> str | None:
    """Return the project that a form begins with: the wanted one, the only one, or the default one; None: choose."""
    for name in (wanted, *(projects if len(projects) == 1 else ()), DEFAULT_PROJECT):
        if name in projects:
            return name
    return None
