"""SQL of resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.kit.errors import existing
from backend.models import Project, Resource, ResourceVersion, Run, RunFindings, RunResource, User
from bapo.api.resources import ResourceKind, ResourceRun
from bapo.methods.probe import ProbeConfig

MOST_RUNS = 200


MOST_PROBES = 50
TRAINED_ON = "task.train_file"
"""The config field that names the problems of a run."""


class ResourceRow(NamedTuple):
    """A resource with who registered it and how many runs use it."""

    resource: Resource
    author: str
    num_runs: int
    project: str


def _reference() -> ColumnElement[str]:
    """Return the value of a config field that uses the resource."""
    return Resource.path + func.coalesce(":" + Resource.function, "")


def _is_used() -> ColumnElement[bool]:
    """Return whether a run's config names the resource, in whichever version."""
    paths = select(ResourceVersion.path).where(ResourceVersion.resource_id == Resource.id).correlate(Resource)
    return or_(RunResource.reference == _reference(), RunResource.reference.in_(paths))


def _rows() -> Select[Resource, str, int, str]:
    uses = (
        select(func.count(func.distinct(RunResource.run_id)))
        .join(Run, Run.id == RunResource.run_id)
        .where(_is_used())
        .correlate(Resource)
        .scalar_subquery()
    )
    return (
        select(Resource, User.name, uses, Project.name)
        .join(User, User.id == Resource.owner_id)
        .join(Project, Project.id == Resource.project_id)
    )


def resources(session: Session, kind: ResourceKind | None) -> list[ResourceRow]:
    """Return all resources, or those of one kind, by kind and name."""
    query = _rows().order_by(Resource.kind, Resource.name)
    if kind is not None:
        query = query.where(Resource.kind == kind)
    return [ResourceRow(*row) for row in session.execute(query)]


def row(session: Session, resource_id: str) -> ResourceRow:
    """Return one resource. Raises Problem 404."""
    found = session.execute(_rows().where(Resource.id == resource_id)).one_or_none()
    return ResourceRow(*existing(found, "resource", resource_id))


def named(session: Session, project_id: str | None, kind: ResourceKind, name: str) -> Resource | None:
    """Return the project's resource of that name."""
    query = select(Resource).where(Resource.project_id == project_id, Resource.kind == kind, Resource.name == name)
    return session.scalars(query).one_or_none()


def version(session: Session, resource_id: str, number: int) -> ResourceVersion | None:
    """Return a version of an uploaded resource."""
    query = select(ResourceVersion).where(ResourceVersion.resource_id == resource_id, ResourceVersion.number == number)
    return session.scalars(query).one_or_none()


def versions(session: Session, resource_ids: Sequence[str]) -> Sequence[tuple[ResourceVersion, str]]:
    """Return all versions of these resources with who uploaded them, the newest first."""
    query = (
        select(ResourceVersion, User.name)
        .join(User, User.id == ResourceVersion.owner_id)
        .where(ResourceVersion.resource_id.in_(resource_ids))
        .order_by(ResourceVersion.number.desc())
    )
    return session.execute(query).all()


def is_content(session: Session, project_id: str | None, path: str) -> bool:
    """Return whether this is the content of an upload of the project, under a name or not."""
    query = select(ResourceVersion.id).where(ResourceVersion.project_id == project_id, ResourceVersion.path == path)
    return session.scalars(query).first() is not None


def names(session: Session, project_id: str | None, kind: ResourceKind) -> Sequence[str]:
    """Return the names of all resources of a kind in a project."""
    query = select(Resource.name).where(Resource.project_id == project_id, Resource.kind == kind)
    return session.scalars(query.order_by(Resource.name)).all()


def names_by_path(session: Session, kind: ResourceKind) -> Mapping[str, str]:
    """Return the resources' names by path."""
    query = select(Resource.path, Resource.name).where(Resource.kind == kind).order_by(Resource.name.desc())
    return dict(session.execute(query).all())


def num_rows(session: Session) -> Mapping[str, int]:
    """Return the number of rows of the registered data sets by path."""
    found: dict[str, int] = {}
    for table in (ResourceVersion, Resource):
        rows = table.details["num_rows"].as_integer()
        found |= dict(session.execute(select(table.path, rows).where(rows.is_not(None))).all())
    return found


def model_context(session: Session, path: str) -> int | None:
    """Return the context in tokens of a registered model, in any version; None where it is unknown."""
    for table in (ResourceVersion, Resource):
        tokens = table.details["max_position_embeddings"].as_integer()
        found: int | None = session.scalars(select(tokens).where(table.path == path, tokens.is_not(None))).first()
        if found is not None:
            return found
    return None


def is_registered(session: Session, project_id: str | None, kind: ResourceKind, reference: str) -> bool:
    """Return whether the project has a resource that configs name like this."""
    query = select(Resource.id).where(Resource.project_id == project_id, Resource.kind == kind)
    return session.scalars(query.where(_reference() == reference)).first() is not None


def remove(session: Session, resource: Resource) -> None:
    """Forget the name."""
    session.execute(delete(Resource).where(Resource.id == resource.id))


def note_use(session: Session, run_id: str, references: Mapping[str, str]) -> None:
    """Record the resources that the run's config names, by field."""
    rows = [{"run_id": run_id, "field": field, "reference": reference} for field, reference in references.items()]
    if rows:
        session.execute(insert(RunResource).on_conflict_do_nothing(), rows)


def runs_with(session: Session, resource: Resource) -> list[ResourceRun]:
    """Return the runs that use the resource, newest first."""
    query = (
        select(Run.id, Run.name, Run.status, RunResource.field, ResourceVersion.number, Run.created_at)
        .join(Run, Run.id == RunResource.run_id)
        .join(Resource, Resource.id == resource.id)
        .outerjoin(ResourceVersion, ResourceVersion.path == RunResource.reference)
        .where(_is_used())
        .order_by(Run.created_at.desc(), Run.id)
        .limit(MOST_RUNS)
    )
    return [
        ResourceRun(id=run_id, name=name, status=status.value, field=field, version=number, created_at=created_at)
        for run_id, name, status, field, number, created_at in session.execute(query)
    ]


class ProbeRow(NamedTuple):
    """A probe on a data set."""

    run: Run
    author: str
    version: int | None
    kept: dict[str, Any] | None
    """Short summary, as stored."""


def probes_on(session: Session, resource: Resource) -> list[ProbeRow]:
    """Return the probes whose problems come from the data set, in any version, newest first."""
    query = (
        select(Run, User.name, ResourceVersion.number, RunFindings.probe)
        .join(RunResource, RunResource.run_id == Run.id)
        .join(User, User.id == Run.owner_id)
        .join(Resource, Resource.id == resource.id)
        .outerjoin(ResourceVersion, ResourceVersion.path == RunResource.reference)
        .outerjoin(RunFindings, RunFindings.run_id == Run.id)
        .where(
            _is_used(),
            RunResource.field == TRAINED_ON,
            Run.config["method"]["type"].as_string() == ProbeConfig.type_name(),
        )
        .order_by(Run.created_at.desc(), Run.id)
        .limit(MOST_PROBES)
    )
    return [ProbeRow(*row) for row in session.execute(query)]
