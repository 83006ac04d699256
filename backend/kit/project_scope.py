"""Limits a database session to the caller's projects: rows of other projects do not exist for it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import ORMExecuteState, Session, with_loader_criteria

from backend.models import Base, Project

_SCOPE = "scope"
ALL_PROJECTS = "all_projects"
"""Execution option of the few queries that look at all projects and show nothing of what they find there:
`select(...).execution_options(all_projects=True)`."""


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


@cache
def owned_entities() -> tuple[type[Any], ...]:
    """Everything that belongs to a project: runs, groups, views, resources, rules, and whatever comes to have one."""
    return tuple(mapper.class_ for mapper in Base.registry.mappers if "project_id" in mapper.columns)


def _only_visible(state: ORMExecuteState) -> None:
    options = state.session.info.get(_SCOPE)
    if options is None or state.is_insert or state.execution_options.get(ALL_PROJECTS):
        return
    state.statement = state.statement.options(*options)


def scope_queries(session_class: type[Session]) -> None:
    """Make the sessions of this class keep to what `limit` said."""
    event.listen(session_class, "do_orm_execute", _only_visible)
