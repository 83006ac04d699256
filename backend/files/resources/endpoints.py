"""Routes for data sets, models and verifiers."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from backend.files.resources import repository, service
from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Reader, Writer
from bapo.api.resources import (
    DataProbes,
    ResourceCreate,
    ResourceFilePage,
    ResourceInfo,
    ResourceKind,
    ResourcePage,
    ResourcePreview,
    ResourceUse,
)

router = new_router("resources")

Kind = Annotated[ResourceKind | None, Query(description="Defaults to all kinds.")]


@router.get("/resources", summary="List resources")
def list_resources(caller: Reader, session: DbSession, settings: SettingsOf, kind: Kind = None) -> ResourcePage:
    """List data sets, models and verifiers by kind and name, with their contents and the number of their runs."""
    items = service.infos(session, repository.resources(session, kind), caller)
    return ResourcePage(items=items, roots=[str(root) for root in settings.permitted_folders.roots])


@router.get("/resource-files", summary="List files to register")
def list_resource_files(
    _: Writer, session: DbSession, settings: SettingsOf, kind: Annotated[ResourceKind, Query()]
) -> ResourceFilePage:
    """List the files of a kind below the folders that the deployment permits."""
    return ResourceFilePage(items=service.files(session, kind, settings.permitted_folders))


@router.post("/resources", status_code=201, summary="Register a resource")
def register_resource(caller: Writer, session: DbSession, settings: SettingsOf, body: ResourceCreate) -> ResourceInfo:
    """Register a data set, model or verifier; configs refer to it as `@name`. The file stays where it is.

    A verifier requires an administrator.
    """
    resource_id = service.register(session, body, caller, settings.permitted_folders)
    return service.info(repository.row(session, resource_id), caller)


@router.get("/resources/{resource_id}/preview", summary="Preview a resource")
def preview_resource(
    _: Reader,
    session: DbSession,
    settings: SettingsOf,
    resource_id: str,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> ResourcePreview:
    """Preview a resource: rows of a data set, fields of a model's config, or source of a verifier."""
    return service.preview(session, resource_id, settings.permitted_folders, offset, limit)


@router.get("/resources/{resource_id}/runs", summary="List runs using a resource")
def list_resource_runs(_: Reader, session: DbSession, resource_id: str) -> ResourceUse:
    """List the runs that use a resource, newest first."""
    return ResourceUse(items=repository.runs_with(session, repository.row(session, resource_id).resource))


@router.get("/resources/{resource_id}/probes", summary="List probes on a data set")
def list_data_probes(_: Reader, session: DbSession, settings: SettingsOf, resource_id: str) -> DataProbes:
    """List the probes that were made on a data set, newest first: how many of its groups give no gradient, how many
    answers are right, and how long the planned run takes and what it costs at the prices of now.
    """
    return DataProbes(items=service.probes(session, resource_id, settings))


@router.delete("/resources/{resource_id}", status_code=204, summary="Remove a resource")
def remove_resource(caller: Writer, session: DbSession, resource_id: str) -> None:
    """Remove the name. A registered file and the runs that used it stay; uploaded content is deleted once no run refers
    to it.
    """
    service.remove(session, resource_id, caller)
