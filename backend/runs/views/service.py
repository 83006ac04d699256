"""Creates, replaces and deletes saved views; keeps how each person's run list looks."""

from __future__ import annotations

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from backend.identity.projects import choice
from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.models import SavedView, User
from backend.runs.listing import check_sort
from backend.runs.views import repository
from backend.runs.views.repository import ViewRow
from bapo.api.runs import RunFilters
from bapo.api.views import RunListLayouts, ViewInfo, ViewWrite


def info(row: ViewRow, caller: Principal) -> ViewInfo:
    """Render a view for the API, without filters that this version does not know."""
    known = RunFilters.model_validate(row.view.filters, extra="ignore")
    return rendered(ViewInfo, row, row.view, is_own=row.view.owner_id == caller.id, filters=known)


def create(session: Session, body: ViewWrite, caller: Principal) -> ViewRow:
    """Keep a view. Raises Problem 409 where the caller has one of that name, 422 for an unknown order."""
    check_sort(body.sort)
    project = choice.for_new(session, caller, body.project)
    view = SavedView(project_id=project.id, owner_id=caller.id)
    _store(session, view, body)
    return ViewRow(view, caller.name, project.name)


def replace(session: Session, view_id: str, body: ViewWrite, caller: Principal) -> ViewRow:
    """Replace a view of the caller. Raises Problem 404, 403, 409 and 422."""
    check_sort(body.sort)
    row = _own(session, view_id, caller)
    row.view.updated_at = clock(session)
    if body.project not in (None, row.project):
        project = choice.for_new(session, caller, body.project)
        row.view.project_id = project.id
        row = row._replace(project=project.name)
    _store(session, row.view, body)
    return row


def delete(session: Session, view_id: str, caller: Principal) -> None:
    """Delete a view of the caller. Raises Problem 404 and 403."""
    session.delete(_own(session, view_id, caller).view)


def _own(session: Session, view_id: str, caller: Principal) -> ViewRow:
    row = repository.view(session, view_id)
    if row.view.owner_id != caller.id:
        raise Problem(
            403, "not_your_view", f"only {row.owner} may change this view: save your own", field="id", value=view_id
        )
    return row


def _store(session: Session, view: SavedView, body: ViewWrite) -> None:
    try:
        with session.begin_nested():
            view.name = body.name
            view.filters = body.filters.model_dump(mode="json", exclude_defaults=True)
            view.sort = body.sort
            view.columns = list(body.columns)
            session.add(view)
    except IntegrityError as error:
        raise Problem(
            409, "name_taken", "you have a view with this name: choose another name", field="name", value=body.name
        ) from error


def layouts(session: Session, caller: Principal) -> RunListLayouts:
    """Return how this person's run list looks, without what this version does not know."""
    kept = session.get_one(User, caller.id).run_list
    return RunListLayouts() if kept is None else RunListLayouts.model_validate(kept, extra="ignore")


def keep_layouts(session: Session, caller: Principal, body: RunListLayouts) -> RunListLayouts:
    """Keep it. Raises Problem 422 for an order by an unknown column."""
    for layout in (body.wide, body.narrow):
        if layout.sort is not None:
            check_sort(layout.sort)
    session.get_one(User, caller.id).run_list = body.model_dump(mode="json", exclude_defaults=True)
    return body
