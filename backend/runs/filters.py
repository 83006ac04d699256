"""Translates the filters of the run list to SQL."""

from __future__ import annotations

from sqlalchemy import ColumnElement, cast, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session
from sqlalchemy.types import Text

from backend.models import Project, Run, RunGroup, RunStar, User
from backend.runs import where
from bapo.api.runs import NamedCount, RunFacets, RunFilters


def conditions(filters: RunFilters, viewer_id: str) -> list[ColumnElement[bool]]:
    """Return the conditions that a run must meet; the session itself hides what the caller may not see.

    Raises Problem 422 for a `where` that is no condition, and for an unknown column.
    """
    found: list[ColumnElement[bool]] = []
    if filters.project:
        found.append(Run.project_id.in_(select(Project.id).where(Project.name.in_(filters.project))))
    if filters.status:
        found.append(Run.status.in_(filters.status))
    if filters.method:
        found.append(Run.method.in_(filters.method))
    if filters.tag:
        found.append(Run.tags.contains(cast(list(filters.tag), ARRAY(Text))))
    if filters.owner:
        found.append(Run.owner_id.in_(select(User.id).where(User.name.in_(filters.owner))))
    if filters.group:
        found.append(Run.group_id.in_(select(RunGroup.id).where(RunGroup.name.in_(filters.group))))
    if filters.starred:
        found.append(Run.id.in_(select(RunStar.run_id).where(RunStar.user_id == viewer_id)))
    if filters.archived != "shown" and filters.trash == "hidden":
        found.append(Run.archived_at.is_(None) if filters.archived == "hidden" else Run.archived_at.is_not(None))
    if filters.trash == "only":
        # Whose session finds them: it leaves them out otherwise.
        found.append(Run.trashed_at.is_not(None))
    found += map(where.condition, filters.where)
    return [*found, *_ranges(filters), *(_matches(word) for word in (filters.search or "").split())]


def _ranges(filters: RunFilters) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if filters.created_after is not None:
        found.append(Run.created_at >= filters.created_after)
    if filters.created_before is not None:
        found.append(Run.created_at < filters.created_before)
    if filters.min_step is not None:
        found.append(Run.step >= filters.min_step)
    if filters.max_step is not None:
        found.append(Run.step <= filters.max_step)
    if filters.min_best is not None:
        found.append(Run.eval_best >= filters.min_best)
    if filters.max_best is not None:
        found.append(Run.eval_best <= filters.max_best)
    return found


def _matches(word: str) -> ColumnElement[bool]:
    # The text is in lower case already; `contains` escapes % and _. Names of others are few and read once a query.
    text = Run.search_text.contains(word.lower(), autoescape=True)
    owners = select(User.id).where(User.name.icontains(word, autoescape=True))
    groups = select(RunGroup.id).where(RunGroup.name.icontains(word, autoescape=True))
    return or_(text, Run.owner_id.in_(owners), Run.group_id.in_(groups))


MOST_NAMES = 500


def facets(session: Session, trash_days: float) -> RunFacets:
    """Return methods, tags, owners, groups and projects of the runs that the session sees, the most frequent first."""
    tags = select(func.unnest(Run.tags).label("tag")).subquery()
    owners = select(User.name).join(Run, Run.owner_id == User.id).subquery()
    groups = select(RunGroup.name).join(Run, Run.group_id == RunGroup.id)
    methods = select(Run.method).subquery()
    projects = select(Project.name).join(Run, Run.project_id == Project.id).subquery()
    trashed = select(func.count()).select_from(Run).where(Run.trashed_at.is_not(None))
    return RunFacets(
        methods=_counted(session, methods.c.method),
        tags=_counted(session, tags.c.tag),
        owners=_counted(session, owners.c.name),
        groups=_counted(session, groups.subquery().c.name),
        projects=_counted(session, projects.c.name),
        num_trashed=session.scalars(trashed.execution_options(with_trash=True)).one(),
        trash_days=trash_days,
    )


def _counted(session: Session, column: ColumnElement[str]) -> list[NamedCount]:
    count = func.count()
    query = select(column, count).group_by(column).order_by(count.desc(), column).limit(MOST_NAMES)
    return [NamedCount(name=name, count=number) for name, number in session.execute(query)]
