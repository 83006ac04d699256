"""Chooses the project of something new."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from backend.identity.auth import repository as accounts
from backend.identity.projects import repository
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.models import Project


def for_new(session: Session, caller: Principal, name: str | None, *, beside: str | None = None) -> Project:
    """Return the project of that name; without a name, the project of the object with the given ID, the only one
    that the caller may submit to, or the first of the server.

    Raises Problem 422 where there is none or no single one, 403 where the caller may only look, 409 for an archived
    one.
    """
    visible = accounts.projects(session)
    if name is not None:
        return _named(visible, caller, name)
    writable = [each for each in visible if caller.may_write_in(each.id) and each.archived_at is None]
    chosen = next((each for each in writable if each.id == beside), None)
    if chosen is None and len(writable) == 1:
        chosen = writable[0]
    if chosen is None:
        first = repository.oldest(session)
        chosen = next((each for each in writable if first is not None and each.id == first.id), None)
    if chosen is None:
        names = ", ".join(each.name for each in writable)
        remedy = f"name the project, one of {names}" if names else _NOWHERE
        raise Problem(422, "no_project", remedy, field="project")
    return chosen


_NOWHERE = "you may not submit to any project: ask an administrator to add you to one"


def _named(visible: Sequence[Project], caller: Principal, name: str) -> Project:
    found = next((each for each in visible if each.name == name), None)
    if found is None:
        names = ", ".join(each.name for each in visible if caller.may_write_in(each.id))
        remedy = f"unknown project: use one of {names}" if names else _NOWHERE
        raise Problem(422, "unknown_project", remedy, field="project", value=name)
    if not caller.may_write_in(found.id):
        remedy = "you have read access only to this project: ask its administrators"
        raise Problem(403, "forbidden", remedy, field="project", value=name)
    if found.archived_at is not None:
        remedy = "the project is archived: use another, or restore it"
        raise Problem(409, "project_archived", remedy, field="project", value=name)
    return found


def for_reading(session: Session, name: str | None, *, beside: str | None = None) -> str | None:
    """Return the identifier of the project that a draft is checked for; `None` if the caller has none.

    Raises Problem 422 for one that does not exist for the caller.
    """
    visible = accounts.projects(session)
    if name is not None:
        found = next((each for each in visible if each.name == name), None)
        if found is None:
            names = ", ".join(each.name for each in visible) or "none: you are not a member of any"
            raise Problem(422, "unknown_project", f"unknown project: use one of {names}", field="project", value=name)
        return found.id
    if beside is not None or len(visible) == 1:
        return beside or visible[0].id
    first = repository.oldest(session)
    return None if first is None else first.id
