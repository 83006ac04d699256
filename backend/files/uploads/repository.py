"""SQL of uploads and of the versions that are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, case, delete, exists, func, select, update
from sqlalchemy.orm import Session

from backend.kit.database import seconds_from_now
from backend.kit.errors import existing
from backend.models import Project, Resource, ResourceVersion, RunResource, Upload, User
from bapo.own_data.check import OtherData

UploadRow = tuple[Upload, str, str]
"""An upload with the names of its project and its author."""


class ToFetch(NamedTuple):
    """An upload whose file the server fetches."""

    upload_id: str
    source: str
    owner_id: str


def rows(session: Session, owner_id: str) -> Sequence[UploadRow]:
    """Return a user's uploads, newest first."""
    query = select(Upload, Project.name, User.name).join(Project).join(User, User.id == Upload.owner_id)
    return session.execute(query.where(Upload.owner_id == owner_id).order_by(Upload.created_at.desc(), Upload.id)).all()


def row(session: Session, upload_id: str) -> UploadRow:
    """Return one upload. Raises Problem 404."""
    query = select(Upload, Project.name, User.name).join(Project).join(User, User.id == Upload.owner_id)
    found = session.execute(query.where(Upload.id == upload_id)).one_or_none()
    return existing(found, "upload", upload_id)


def lock(session: Session, upload_id: str) -> Upload | None:
    """Return an upload, locked until the transaction ends."""
    return session.scalars(select(Upload).where(Upload.id == upload_id).with_for_update()).one_or_none()


def begun(session: Session, owner_id: str, project_id: str, kind: str, file_name: str, num_bytes: int) -> Upload | None:
    """Return an upload of the same file, as far as its name and size say, that has not come to its end."""
    query = select(Upload).where(
        Upload.owner_id == owner_id,
        Upload.project_id == project_id,
        Upload.kind == kind,
        Upload.file_name == file_name,
        Upload.num_bytes == num_bytes,
        Upload.state == "receiving",
    )
    return session.scalars(query.order_by(Upload.created_at.desc())).first()


_MADE = func.coalesce(Upload.result["num_bytes"].astext.cast(BigInteger), 0)
"""Bytes of what the last check wrote: rows of ours, or the files of a model."""
_HELD = case((Upload.kind == "model", func.greatest(Upload.num_bytes, _MADE)), else_=Upload.num_bytes + _MADE)
"""Bytes held by an upload; once a model is unpacked, its archive is deleted."""


def used_bytes(session: Session, project_ids: Collection[str]) -> Mapping[str, int]:
    """Return the bytes that projects hold, by project: uploads under way count in full, with what a check made of
    them."""
    used = dict.fromkeys(project_ids, 0)
    for table, num_bytes_held in ((Upload, _HELD), (ResourceVersion, ResourceVersion.num_bytes)):
        query = select(table.project_id, func.sum(num_bytes_held)).where(table.project_id.in_(project_ids))
        for project_id, num_bytes in session.execute(query.group_by(table.project_id)):
            used[project_id] += int(num_bytes)
    return used


def lock_project(session: Session, project_id: str) -> None:
    """Lock the project until the transaction ends, so that no other upload begins or is registered in it."""
    session.execute(select(Project.id).where(Project.id == project_id).with_for_update())


def next_to_check(session: Session, busy: Collection[str], busy_owners: Collection[str]) -> Upload | None:
    """Return the upload that has waited longest and is not being checked, of people without a check under way."""
    query = select(Upload).where(
        Upload.state == "checking", Upload.id.not_in(busy), Upload.owner_id.not_in(busy_owners)
    )
    return session.scalars(query.order_by(Upload.touched_at, Upload.id).limit(1)).one_or_none()


def is_to_be_checked(session: Session, upload_id: str, mapping: Mapping[str, Any] | None) -> bool:
    """Return whether an upload is still there and waits for a check with these columns."""
    query = select(Upload.mapping).where(Upload.id == upload_id, Upload.state == "checking")
    found = session.execute(query).one_or_none()
    return found is not None and found[0] == mapping


class FetchLimits(NamedTuple):
    """Maximum numbers of files fetched at once."""

    total: int
    per_user: int
    unreserved: int
    """Files under way from which on only users without any begin one, so that slow sources of a few users keep no
    others waiting."""


def to_fetch(session: Session, busy: Mapping[str, str], limits: FetchLimits) -> Sequence[ToFetch]:
    """Return the uploads to begin to fetch: those that have waited longest.

    `busy` are the owners of those under way.
    """
    query = select(Upload.id, Upload.source, Upload.owner_id)
    query = query.where(Upload.state == "fetching", Upload.id.not_in(busy))
    of_user = Counter(busy.values())
    found: list[ToFetch] = []
    for upload_id, source, owner_id in session.execute(query.order_by(Upload.created_at, Upload.id)):
        held, under_way = of_user[owner_id], of_user.total()
        if under_way >= limits.total:
            break
        if source is not None and (not held or (held < limits.per_user and under_way < limits.unreserved)):
            of_user[owner_id] += 1
            found.append(ToFetch(upload_id, source, owner_id))
    return found


def fetches(session: Session, owner_id: str) -> int:
    """Return how many of the user's files are being fetched."""
    query = select(func.count()).where(Upload.owner_id == owner_id, Upload.state == "fetching")
    return session.scalars(query).one()


def touch(session: Session, upload_id: str) -> None:
    """Record that the upload is in use."""
    session.execute(update(Upload).where(Upload.id == upload_id).values(touched_at=func.now()))


def expired(session: Session, hours: float) -> Sequence[str]:
    """Return the abandoned uploads."""
    query = select(Upload.id).where(Upload.touched_at < seconds_from_now(-3_600 * hours), Upload.state != "checking")
    return session.scalars(query).all()


def remove(session: Session, upload_ids: Collection[str]) -> None:
    """Forget uploads."""
    session.execute(delete(Upload).where(Upload.id.in_(upload_ids)))


def known(session: Session, upload_ids: Collection[str]) -> set[str]:
    """Return those of these uploads that there are."""
    return set(session.scalars(select(Upload.id).where(Upload.id.in_(upload_ids))))


# ---------------------------------------------------------------- versions


def others(session: Session, project_id: str) -> list[OtherData]:
    """Return the data sets of a project, each in its newest version, and whether runs were evaluated on it."""
    is_test_set = exists().where(RunResource.reference == Resource.path, RunResource.field.startswith("task.test_file"))
    query = select(Resource.name, Resource.path, is_test_set).where(
        Resource.project_id == project_id, Resource.kind == "dataset"
    )
    return [OtherData(*found) for found in session.execute(query.order_by(Resource.name))]


def version_at(session: Session, path: str) -> ResourceVersion | None:
    """Return the version with this content, under a name or not."""
    return session.scalars(select(ResourceVersion).where(ResourceVersion.path == path)).one_or_none()


def newest_number(session: Session, resource_id: str) -> int:
    """Return the number of the newest version; 0 where there is none."""
    query = select(func.max(ResourceVersion.number)).where(ResourceVersion.resource_id == resource_id)
    return session.scalars(query).one() or 0


def of_run(session: Session, run_id: str, project_id: str) -> Sequence[ResourceVersion]:
    """Return the uploaded content that a run's config names."""
    query = select(ResourceVersion).where(
        ResourceVersion.project_id == project_id,
        ResourceVersion.path.in_(select(RunResource.reference).where(RunResource.run_id == run_id)),
    )
    return session.scalars(query.order_by(ResourceVersion.path)).all()


def unused(session: Session, hours: float) -> Sequence[ResourceVersion]:
    """Return the content without a name that no run refers to."""
    is_used = exists().where(RunResource.reference == ResourceVersion.path)
    query = select(ResourceVersion).where(
        ResourceVersion.resource_id.is_(None), ~is_used, ResourceVersion.created_at < seconds_from_now(-3_600 * hours)
    )
    return session.scalars(query).all()


def remove_versions(session: Session, version_ids: Collection[str]) -> None:
    """Forget content."""
    session.execute(delete(ResourceVersion).where(ResourceVersion.id.in_(version_ids)))


def expiry(upload: Upload, hours: float) -> datetime:
    """Return when an upload is deleted if it is not continued."""
    return datetime.fromtimestamp(upload.touched_at.timestamp() + 3_600 * hours, upload.touched_at.tzinfo)
