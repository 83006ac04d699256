"""Registers, lists and previews resources, and lists the probes on a data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path, PurePath

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from backend.files.resources import inspection, repository, roots
from backend.files.resources.contents import ContentError
from backend.files.resources.inspection import BusyError, Found, Inspection, Window
from backend.files.resources.repository import ResourceRow
from backend.identity.audit.repository import add_audit
from backend.identity.projects import choice
from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.models import Resource
from backend.models import ResourceVersion as ResourceVersionRow
from backend.prices.service import prices_in_force
from backend.runs.usage import Usage, planned_cost, usage_of
from backend.settings.environment import Settings
from bapo.analysis.findings.finding import ProbeFigures
from bapo.api.resources import (
    DataProbe,
    ResourceCreate,
    ResourceFile,
    ResourceInfo,
    ResourceKind,
    ResourcePreview,
    ResourceVersion,
)
from bapo.config.paths import PermittedFolders, path_fields


def register(session: Session, body: ResourceCreate, caller: Principal, folders: PermittedFolders) -> str:
    """Register a resource and return its identifier. Raises Problem 403, 409 or 422."""
    if body.kind == "verifier" and caller.role != "admin":
        # It will be run by the workers.
        raise Problem(
            403, "forbidden", "a verifier is a program that workers run: only administrators may register one"
        )
    if body.kind != "verifier" and body.function is not None:
        remedy = f"only a verifier has a function: leave it out for a {body.kind}"
        raise Problem(422, "invalid_request", remedy, field="function", value=body.function)
    path = roots.permitted(body.path, folders, body.kind)
    details = _inspected(Inspection(path=path, kind=body.kind, function=body.function)).details
    resource = Resource(
        project_id=choice.for_new(session, caller, body.project).id,
        kind=body.kind,
        name=body.name,
        path=str(path),
        function=body.function,
        description=body.description,
        owner_id=caller.id,
        details=details,
    )
    try:
        with session.begin_nested():
            session.add(resource)
    except IntegrityError:
        remedy = f"a {body.kind} with this name is already registered: choose another name, or remove that one first"
        raise Problem(409, "name_taken", remedy, field="name", value=body.name) from None
    add_audit(session, None, caller.name, "registered", {"kind": body.kind, "name": body.name, "path": str(path)})
    return resource.id


def info(row: ResourceRow, caller: Principal, versions: Sequence[tuple[ResourceVersionRow, str]] = ()) -> ResourceInfo:
    """Render a resource for the API; `versions`: of all resources, those of uploads with their authors."""
    resource = row.resource
    kind: ResourceKind = resource.kind  # type: ignore[assignment]
    return rendered(
        ResourceInfo,
        row,
        resource,
        fields=[field for field, wanted in path_fields().items() if wanted == kind],
        is_present=roots.fits(Path(resource.path), kind),
        may_remove=_may_remove(resource, caller),
        versions=[
            rendered(ResourceVersion, version, author=author)
            for version, author in versions
            if version.resource_id == resource.id
        ],
    )


def infos(session: Session, rows: Sequence[ResourceRow], caller: Principal) -> list[ResourceInfo]:
    """Render resources with their versions."""
    versions = repository.versions(session, [row.resource.id for row in rows])
    return [info(row, caller, versions) for row in rows]


def preview(session: Session, resource_id: str, folders: PermittedFolders, offset: int, limit: int) -> ResourcePreview:
    """Preview a resource. Raises Problem 404, and 422 if the file is gone or no longer permitted."""
    resource = repository.row(session, resource_id).resource
    kind: ResourceKind = resource.kind  # type: ignore[assignment]
    if repository.is_content(session, resource.project_id, resource.path):
        path = Path(resource.path)
        if not roots.fits(path, kind):
            raise Problem(422, "invalid_request", "the content is gone: upload it again", field="path", value=str(path))
    else:
        # The permitted folders, or a link on the way, may have changed since.
        path = roots.permitted(resource.path, folders, kind)
    window = Window(offset=offset, limit=limit, num_rows=resource.details.get("num_rows"))
    found = _inspected(Inspection(path=path, kind=kind, window=window)).preview
    assert found is not None, "rows were asked for"
    return found


def _inspected(job: Inspection) -> Found:
    """Return what an inspection finds. Raises Problem 422 if the file does not fit its kind, 503 if too many run."""
    try:
        return inspection.inspect_isolated(job)
    except ContentError as error:
        raise Problem(422, "invalid_request", error.remedy, field=error.field, value=error.value) from None
    except BusyError:
        seconds = math.ceil(inspection.TURN_SECONDS)
        remedy = f"many files are being read: try again in {seconds} s"
        raise Problem(503, "busy", remedy, headers={"Retry-After": str(seconds)}) from None


def remove(session: Session, resource_id: str, caller: Principal) -> None:
    """Take the name away. Raises Problem 403 or 404."""
    resource = repository.row(session, resource_id).resource
    if not _may_remove(resource, caller):
        raise Problem(403, "forbidden", "only its owner or an administrator may remove a resource")
    repository.remove(session, resource)
    add_audit(session, None, caller.name, "removed", {"kind": resource.kind, "name": resource.name})


def files(session: Session, kind: ResourceKind, folders: PermittedFolders) -> list[ResourceFile]:
    """Return the files that can be registered."""
    known = repository.names_by_path(session, kind)
    return [
        ResourceFile(
            path=str(path),
            num_bytes=path.stat().st_size if path.is_file() else 0,
            registered_as=known.get(str(path)),
        )
        for path in roots.candidates(folders, kind)
    ]


def _may_remove(resource: Resource, caller: Principal) -> bool:
    return caller.may_change(resource)


def probes(session: Session, resource_id: str, settings: Settings) -> list[DataProbe]:
    """Return the probes on the resource, newest first; an empty list if it is no data set. Raises Problem 404."""
    rows = repository.probes_on(session, repository.row(session, resource_id).resource)
    usage = usage_of(session, [row.run.id for row in rows])
    prices, now = prices_in_force(session, settings), clock(session)
    found = []
    for run, author, version, kept in rows:
        figures = None if kept is None else ProbeFigures.model_validate(kept)
        planned = planned_cost(None if figures is None else figures.seconds, usage.get(run.id, Usage()), prices, now)
        found.append(
            DataProbe(
                run_id=run.id,
                name=run.name,
                status=run.status.value,
                version=version,
                # Uploaded models lie in a folder with their name, as others mostly do.
                model=PurePath(run.config["model"]["path"]).name,
                author=author,
                created_at=run.created_at,
                figures=figures,
                **planned._asdict(),
                currency=prices.currency,
            )
        )
    return found
