"""Limits a database session to the caller's projects, and to runs outside the trash: other rows do not exist for it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import ORMExecuteState, Session, with_loader_criteria

from backend.models import Base, Project, Run

_SCOPE = "scope"
_TRASH = "trash"
_NOT_TRASHED = with_loader_criteria(Run, Run.trashed_at.is_(None), include_aliases=True)
ALL_PROJECTS = "all_projects"
"""Execution option of the few queries that look at all projects and show nothing of what they find there:
`select(...).execution_options(all_projects=True)`."""

WITH_TRASH = "with_trash"
"""Execution option of the few queries that must find runs in the trash, such as by a key that stays taken."""


def limit(session: Session, project_ids: Collection[str] | None) -> None:
    """Limit the session's ORM queries to these projects; None lifts the limit."""
    if project_ids is None:
        session.info.pop(_SCOPE, None)
        return
    ids = tuple(project_ids)
    options: list[Any] = [with_loader_criteria(Project, Project.id.in_(ids), include_aliases=True)]
    for entity in owned_entities():
        options.append(with_loader_criteria(entity, entity.project_id.in_(ids), include_aliases=True))
    session.info[_SCOPE] = tuple(options)


def hide_trash(session: Session) -> None:
    """Leave runs in the trash out of the session's ORM queries, as if they were deleted already."""
    session.info[_TRASH] = (_NOT_TRASHED,)


def show_trash(session: Session) -> None:
    """Include runs in the trash in the session's queries: to list, restore and delete them."""
    session.info.pop(_TRASH, None)


@cache
def owned_entities() -> tuple[type[Any], ...]:
    """Return everything that belongs to a project: runs, groups, views, resources, rules, and whatever comes to have
    one."""
    return tuple(mapper.class_ for mapper in Base.registry.mappers if "project_id" in mapper.columns)


def _only_visible(state: ORMExecuteState) -> None:
    if state.is_insert:
        return
    options = () if state.execution_options.get(ALL_PROJECTS) else state.session.info.get(_SCOPE, ())
    # What is loaded later of a run that has just been moved to the trash is that run's still.
    if not state.is_column_load and not state.execution_options.get(WITH_TRASH):
        options += state.session.info.get(_TRASH, ())
    if options:
        state.statement = state.statement.options(*options)


def scope_queries(session_class: type[Session]) -> None:
    """Make the sessions of this class keep to what `limit` said."""
    event.listen(session_class, "do_orm_execute", _only_visible)
