"""Keep, open and delete views of the run list."""

from __future__ import annotations

from backend.kit.context import DbSession, new_router
from backend.kit.permissions import Reader, Writer
from backend.views import repository, service
from bapo.api.views import ViewInfo, ViewPage, ViewWrite

router = new_router("views")


@router.get("/views", summary="All saved views")
def list_views(caller: Reader, session: DbSession) -> ViewPage:
    """Everybody's, by name; each says whose it is."""
    rows = repository.views(session)
    return ViewPage(items=[service.info(row, caller) for row in rows])


@router.post("/views", status_code=201, summary="Save a view")
def create_view(caller: Writer, session: DbSession, body: ViewWrite) -> ViewInfo:
    """Filters, order and columns of the run list, under a name."""
    return service.info(service.create(session, body, caller), caller)


@router.get("/views/{view_id}", summary="One saved view")
def get_view(caller: Reader, session: DbSession, view_id: str) -> ViewInfo:
    """Anybody's."""
    return service.info(service.get(session, view_id), caller)


@router.put("/views/{view_id}", summary="Change a saved view")
def replace_view(caller: Writer, session: DbSession, view_id: str, body: ViewWrite) -> ViewInfo:
    """One's own, as a whole."""
    return service.info(service.replace(session, view_id, body, caller), caller)


@router.delete("/views/{view_id}", status_code=204, summary="Delete a saved view")
def delete_view(caller: Writer, session: DbSession, view_id: str) -> None:
    """One's own."""
    service.delete(session, view_id, caller)
