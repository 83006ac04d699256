"""Routes for saved views, and for how each person's run list looks."""

from __future__ import annotations

from backend.kit.context import DbSession, new_router
from backend.kit.permissions import Reader, Writer
from backend.runs.views import repository, service
from bapo.api.views import RunListLayouts, ViewInfo, ViewPage, ViewWrite

router = new_router("views")


@router.get("/views", summary="List saved views")
def list_views(caller: Reader, session: DbSession) -> ViewPage:
    """List the saved views of the caller's projects by name."""
    rows = repository.views(session)
    return ViewPage(items=[service.info(row, caller) for row in rows])


@router.post("/views", status_code=201, summary="Save a view")
def create_view(caller: Writer, session: DbSession, body: ViewWrite) -> ViewInfo:
    """Save filters, order and columns of the run list under a name."""
    return service.info(service.create(session, body, caller), caller)


@router.get("/views/{view_id}", summary="Get a saved view")
def get_view(caller: Reader, session: DbSession, view_id: str) -> ViewInfo:
    """Get a saved view by ID."""
    return service.info(repository.view(session, view_id), caller)


@router.put("/views/{view_id}", summary="Replace a saved view")
def replace_view(caller: Writer, session: DbSession, view_id: str, body: ViewWrite) -> ViewInfo:
    """Replace a saved view. Only its owner may do this."""
    return service.info(service.replace(session, view_id, body, caller), caller)


@router.delete("/views/{view_id}", status_code=204, summary="Delete a saved view")
def delete_view(caller: Writer, session: DbSession, view_id: str) -> None:
    """Delete a saved view. Only its owner may do this."""
    service.delete(session, view_id, caller)


@router.get("/account/run-list", summary="Get the look of the caller's run list")
def get_run_list(caller: Reader, session: DbSession) -> RunListLayouts:
    """Get the caller's saved column layout: columns, widths and order, in all browsers."""
    return service.layouts(session, caller)


@router.put("/account/run-list", summary="Set the look of the caller's run list")
def set_run_list(caller: Reader, session: DbSession, body: RunListLayouts) -> RunListLayouts:
    """Keep columns, widths and order of the run list for the caller."""
    return service.keep_layouts(session, caller, body)
