"""Routes that list, read and star runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Response

from backend.identity.audit.repository import audit_of_run
from backend.kit import events, project_scope
from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.exports import CSV, attachment
from backend.kit.permissions import Reader
from backend.kit.response_cache import revisions
from backend.prices.service import prices_in_force
from backend.runs import columns, export, filters, groups, listing, presentation, repository
from backend.runs.checkpoints import service as checkpoints
from bapo.api.artifacts import CheckpointPage
from bapo.api.runs import (
    History,
    RunColumns,
    RunDetail,
    RunExport,
    RunFacets,
    RunGrouping,
    RunGroups,
    RunPage,
    RunQuery,
)

router = new_router("runs")


@router.get("/runs", summary="List runs")
def list_runs(caller: Reader, session: DbSession, settings: SettingsOf, query: Annotated[RunQuery, Query()]) -> RunPage:
    """List runs, filtered and sorted. `total` counts all matches. Archived runs are left out unless requested."""
    if query.trash == "only":
        project_scope.show_trash(session)
    page = listing.list_runs(session, query, caller.id)
    prices = prices_in_force(session, settings)
    items = [presentation.summary(row, prices) for row in page.rows]
    return RunPage(items=items, total=page.total, next_cursor=page.next_cursor, num_sets=page.num_sets)


@router.get(
    "/runs.csv",
    summary="Export runs as CSV",
    response_class=Response,
    responses=CSV,
)
def export_runs(
    caller: Reader, session: DbSession, settings: SettingsOf, query: Annotated[RunExport, Query()]
) -> Response:
    """Export all runs that match the filter. Text that a spreadsheet would run as a formula is prefixed with an
    apostrophe.
    """
    if query.trash == "only":
        project_scope.show_trash(session)
    prices, parts = prices_in_force(session, settings), [export.header(query.columns)]
    for run_ids in export.batches(listing.matching_ids(session, query, query.sort, caller.id), 500):
        rows = listing.rows_by_id(session, run_ids, caller.id, query.columns)
        parts.append(export.lines([presentation.summary(row, prices) for row in rows], query.columns))
        session.expunge_all()
    return attachment("".join(parts), "text/csv", "runs.csv")


@router.get("/runs/facets", summary="Get filter options")
def get_facets(_: Reader, session: DbSession, settings: SettingsOf) -> RunFacets:
    """List methods, tags, owners, groups and projects, each with its number of runs, and what the trash holds."""
    return filters.facets(session, settings.trash_days)


@router.get("/runs/groups", summary="List runs in groups")
def list_groups(caller: Reader, session: DbSession, query: Annotated[RunGrouping, Query()]) -> RunGroups:
    """Group runs by a column, with number, states, mean and spread of each group. The largest group comes first."""
    return groups.groups(session, query, caller.id)


@router.get("/runs/columns", summary="List config fields and metrics of runs")
def get_columns(
    _: Reader, session: DbSession, project: Annotated[Sequence[str], Query(max_length=100)] = ()
) -> RunColumns:
    """Return the columns beyond the built-in ones, of the newest runs of these projects, or of all visible ones."""
    return columns.recorded_columns(session, project)


@router.get("/runs/{run_id}", summary="Get a run")
def get_run(caller: Reader, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """Get a run by ID, with its complete config and the actions that the caller may take now."""
    # These first: what is committed in between is then sent by the stream, not left out.
    place = {"last_event_id": events.latest_id(session), "revision": revisions(session, [run_id])[0]}
    return presentation.run_detail(session, settings, run_id, caller).model_copy(update=place)


@router.put("/runs/{run_id}/star", status_code=204, summary="Star a run")
def star_run(caller: Reader, session: DbSession, run_id: str) -> None:
    """Star a run for the caller."""
    repository.get(session, run_id)
    repository.set_star(session, run_id, caller.id, is_starred=True)


@router.delete("/runs/{run_id}/star", status_code=204, summary="Unstar a run")
def unstar_run(caller: Reader, session: DbSession, run_id: str) -> None:
    """Remove the caller's star from a run."""
    repository.get(session, run_id)
    repository.set_star(session, run_id, caller.id, is_starred=False)


@router.get("/runs/{run_id}/history", summary="Get a run's history")
def get_history(_: Reader, session: DbSession, run_id: str) -> History:
    """Return the audit trail of a run, and each request to it with its outcome."""
    repository.get(session, run_id)
    return History(
        audit=[presentation.audit_entry(row) for row in audit_of_run(session, run_id)],
        controls=[presentation.control(row) for row in repository.controls(session, run_id)],
    )


@router.get("/runs/{run_id}/checkpoints", tags=["checkpoints"], summary="List a run's checkpoints")
def list_checkpoints(_: Reader, session: DbSession, run_id: str) -> CheckpointPage:
    """List the checkpoints that a run keeps, newest first, with the evaluations at their steps."""
    run = repository.get(session, run_id)
    return CheckpointPage(items=checkpoints.kept(session, run), host=run.host)
