"""Routes for prompt lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import Query, Response
from sqlalchemy.orm import Session

from backend.identity.projects import choice
from backend.kit.context import DbSession, new_router
from backend.kit.exports import CSV, JSON_LINES, attachment, csv_file
from backend.kit.permissions import Reader, Writer
from backend.readings.prompt_lists import repository, service
from bapo.api.prompt_lists import (
    Action,
    PromptListChange,
    PromptListCreate,
    PromptListEntryInfo,
    PromptListEntryPage,
    PromptListInfo,
    PromptListPage,
    PromptListRunPage,
    PromptListVersionPage,
)
from bapo.config.prompt_weights import weight_text

router = new_router("prompt lists")
COLUMNS = ("prompt_id", "action", "weight", "note", "author", "added_at")
Project = Annotated[str | None, Query(max_length=200, description="Defaults to all projects of the caller.")]
Version = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Defaults to the newest.")]


@router.get("/prompt-lists", summary="List prompt lists")
def list_prompt_lists(caller: Reader, session: DbSession, project: Project = None) -> PromptListPage:
    """List the prompt lists of the caller's projects by name, with what each holds now and how many runs used it."""
    project_id = None if project is None else choice.for_reading(session, project)
    return PromptListPage(items=[service.info(row, caller) for row in repository.lists(session, project_id)])


@router.post("/prompt-lists", status_code=201, summary="Create a prompt list")
def create_prompt_list(caller: Writer, session: DbSession, body: PromptListCreate) -> PromptListInfo:
    """Create an empty list. Runs of the project name it as `@name` in `task.prompt_list`.

    A removed list of that name comes back, empty, with its versions.
    """
    list_id = service.create(session, body, caller)
    return service.info(repository.row(session, list_id), caller)


@router.get("/prompt-lists/{list_id}", summary="Get a prompt list")
def get_prompt_list(caller: Reader, session: DbSession, list_id: str) -> PromptListInfo:
    """Get a prompt list as it is now."""
    return service.info(repository.row(session, list_id), caller)


@router.delete("/prompt-lists/{list_id}", status_code=204, summary="Remove a prompt list")
def remove_prompt_list(caller: Writer, session: DbSession, list_id: str) -> None:
    """Remove the name. Runs that were submitted with the list keep its entries, and clones of them its versions.

    Requires the list's owner or an administrator of its project.
    """
    service.remove(session, list_id, caller)


@router.get("/prompt-lists/{list_id}/entries", summary="List the entries of a prompt list")
def list_prompt_list_entries(
    _: Reader,
    session: DbSession,
    list_id: str,
    version: Version = None,
    search: Annotated[str | None, Query(max_length=200, description="Part of an identity or a note.")] = None,
    action: Annotated[Action | None, Query(description="Quarantined prompts alone, or weighed ones.")] = None,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> PromptListEntryPage:
    """List what a version holds, by identity: weight 0 stands for quarantine."""
    row = repository.row(session, list_id)
    return service.entries(
        session,
        row,
        service.version_of(row, version),
        search=search,
        is_quarantine=None if action is None else action == "quarantine",
        offset=offset,
        limit=limit,
    )


@router.post("/prompt-lists/{list_id}/entries", summary="Change the entries of a prompt list")
def change_prompt_list(caller: Writer, session: DbSession, list_id: str, body: PromptListChange) -> PromptListInfo:
    """Put prompts on a list, change their weights, or take them off: all of it is one new version.

    Sending the same again changes nothing. Runs that were submitted before keep the version that they name.
    """
    service.change(session, list_id, body, caller)
    return service.info(repository.row(session, list_id), caller)


def _exported(
    session: Session, list_id: str, version: int | None, ending: str
) -> tuple[Iterator[PromptListEntryInfo], str]:
    """Return the entries, and the file's name."""
    row = repository.row(session, list_id)
    number = service.version_of(row, version)
    return service.exported(session, row, number), f"{row.list.name}-{number}.{ending}"


@router.get(
    "/prompt-lists/{list_id}/entries.csv",
    summary="Export a prompt list as CSV",
    response_class=Response,
    responses=CSV,
)
def export_prompt_list(_: Reader, session: DbSession, list_id: str, version: Version = None) -> Response:
    """Return all entries of a version as CSV, which `bapo prompts put --file` and `bapo train --prompt-list` read."""
    entries, name = _exported(session, list_id, version, "csv")
    lines = [
        (
            each.prompt_id,
            "weight" if each.weight else "quarantine",
            weight_text(each.weight) if each.weight else "",
            each.note,
            each.author,
            each.added_at,
        )
        for each in entries
    ]
    return csv_file(name, COLUMNS, lines)


@router.get(
    "/prompt-lists/{list_id}/entries.jsonl",
    summary="Export a prompt list as JSON lines",
    response_class=Response,
    responses=JSON_LINES,
)
def export_prompt_list_lines(_: Reader, session: DbSession, list_id: str, version: Version = None) -> Response:
    """Return all entries of a version, one JSON object a line."""
    entries, name = _exported(session, list_id, version, "jsonl")
    lines = "".join(f"{each.model_dump_json()}\n" for each in entries)
    return attachment(lines, "text/plain", name)


@router.get("/prompt-lists/{list_id}/versions", summary="List the versions of a prompt list")
def list_prompt_list_versions(_: Reader, session: DbSession, list_id: str) -> PromptListVersionPage:
    """List a prompt list's versions with their authors and times, newest first, at most 200."""
    return PromptListVersionPage(items=service.versions(session, repository.row(session, list_id)))


@router.get("/prompt-lists/{list_id}/runs", summary="List runs using a prompt list")
def list_prompt_list_runs(_: Reader, session: DbSession, list_id: str) -> PromptListRunPage:
    """Return the runs that were submitted with the list, and with which version, the newest first, at most 200."""
    return PromptListRunPage(items=repository.runs_with(session, repository.row(session, list_id).list))
