"""The project, of those of the caller, that something new belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.api.accounts import UserInfo

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
