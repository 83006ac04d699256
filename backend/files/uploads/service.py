"""Receives uploads part by part, and moves them through their states."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from sqlalchemy.orm import Session

from backend.files.uploads import repository, room, sources
from backend.files.uploads.contents import check_file_beginning
from backend.files.uploads.repository import UploadRow
from backend.files.uploads.sources import SourceError
from backend.files.uploads.store import StoreError, UploadStore
from backend.identity.audit.repository import add_audit
from backend.identity.projects import choice
from backend.kit.bodies import rendered
from backend.kit.database import Database
from backend.kit.errors import Problem, existing
from backend.kit.middleware import MAX_PIECE_BYTES
from backend.kit.principal import Principal
from backend.models import Upload
from backend.outbound.addresses import ForbiddenAddressError, destination, permitted_addresses
from backend.settings.environment import Settings
from bapo.api.uploads import (
    CatalogueEntry,
    UploadCheck,
    UploadCreate,
    UploadFetch,
    UploadFinish,
    UploadInfo,
    UploadKind,
)
from bapo.config.model_catalogue import CATALOGUE, CatalogueModel
from bapo.own_data.formats import DATA_ENDINGS
from bapo.own_data.report import OPTIONAL, REQUIRED, ColumnMapping, DataPreview

MAX_FETCHES = 8
"""Maximum number of files that are fetched for one user at a time."""
ENDINGS: Mapping[UploadKind, Sequence[str]] = {"dataset": DATA_ENDINGS, "model": (".zip",)}
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9._-]+")


def info(row: UploadRow, settings: Settings) -> UploadInfo:
    """Render an upload for the API."""
    upload, project, author = row
    result = upload.result or {}
    return UploadInfo.model_validate(
        {
            "id": upload.id,
            "kind": upload.kind,
            "file_name": upload.file_name,
            "project": project,
            "author": author,
            "source": None if upload.source is None else sources.shown(upload.source),
            "num_bytes": upload.num_bytes,
            "next_offset": upload.received_bytes,
            "crc32": upload.crc32,
            "piece_bytes": MAX_PIECE_BYTES,
            "state": upload.state,
            **{field: result.get(field) for field in ("problem", "preview", "mapping", "report")},
            "details": result.get("details") or {},
            "suggested_name": _suggested(upload.file_name),
            "created_at": upload.created_at,
            "expires_at": repository.expiry(upload, settings.upload_hours),
        }
    )


def _suggested(file_name: str) -> str:
    stem = _UNNAMEABLE.sub("-", PurePath(file_name).stem).strip("-._")
    return stem[:100] or "data"


def own(session: Session, upload_id: str, caller: Principal) -> UploadRow:
    """Return an upload of the caller's. Raises Problem 404 for any other."""
    row = repository.row(session, upload_id)
    existing(row if row[0].owner_id == caller.id else None, "upload", upload_id)
    return row


def lock_own(session: Session, upload_id: str, caller: Principal) -> Upload:
    """Return an upload of the caller's, to be changed. Raises Problem 404, and 403 for who may only look by now."""
    upload = repository.lock(session, upload_id)
    upload = existing(upload if upload is not None and upload.owner_id == caller.id else None, "upload", upload_id)
    if not caller.may_write_in(upload.project_id):
        remedy = "you have read access only to this project: ask its administrators"
        raise Problem(403, "forbidden", remedy, field="upload_id", value=upload_id)
    return upload


def begin(session: Session, body: UploadCreate, caller: Principal, settings: Settings) -> str:
    """Return the identifier of the upload, resumed or new. Raises Problem 403, 409, 413 or 422."""
    project = choice.for_new(session, caller, body.project)
    _check_ending(body.kind, body.file_name)
    room.check_size(body.num_bytes, settings)
    repository.lock_project(session, project.id)
    known = repository.begun(session, caller.id, project.id, body.kind, body.file_name, body.num_bytes)
    if known is not None:
        repository.touch(session, known.id)
        return known.id
    room.check_quota(session, project.id, body.num_bytes, settings)
    upload = Upload(
        project_id=project.id,
        owner_id=caller.id,
        kind=body.kind,
        file_name=body.file_name,
        num_bytes=body.num_bytes,
    )
    session.add(upload)
    session.flush()
    return upload.id


_WORDS = {"dataset": "data set", "model": "model"}


def _check_ending(kind: UploadKind, file_name: str, field: str = "file_name") -> None:
    endings = ENDINGS[kind]
    if PurePath(file_name).suffix.lower() not in endings:
        remedy = f"an uploaded {_WORDS[kind]} ends in {', '.join(endings)}: convert or rename the file"
        raise Problem(422, "invalid_request", remedy, field=field, value=file_name)


def catalogue(settings: Settings) -> list[CatalogueEntry]:
    """Return the models that the server fetches by their names; none where the deployment does not permit it."""
    return [rendered(CatalogueEntry, each) for each in CATALOGUE.values()] if settings.upload_catalogue else []


class _Wanted(NamedTuple):
    """A file, or several, that the server is to fetch."""

    kind: UploadKind
    file_name: str
    url: str


def begin_fetch(session: Session, body: UploadFetch, caller: Principal, settings: Settings) -> str:
    """Return the identifier of an upload that the server fetches. Raises Problem 403, 409 or 422."""
    project = choice.for_new(session, caller, body.project)
    try:
        model = sources.catalogue_model(body.url)
        wanted = _at_address(body, settings) if model is None else _in_catalogue(body, model, settings)
    except (SourceError, ForbiddenAddressError) as error:
        raise Problem(422, "forbidden_address", str(error), field="url", value=sources.shown(body.url)) from None
    repository.lock_project(session, project.id)
    under_way = repository.fetches(session, caller.id)
    if under_way >= MAX_FETCHES:
        remedy = f"{under_way} files are being fetched for you: wait until they have arrived, or delete one"
        raise Problem(409, "too_many_fetches", remedy, field="url", value=sources.shown(body.url))
    upload = Upload(
        project_id=project.id,
        owner_id=caller.id,
        kind=wanted.kind,
        file_name=wanted.file_name,
        source=wanted.url,
        num_bytes=0,
        state="fetching",
    )
    session.add(upload)
    session.flush()
    facts = {"upload_id": upload.id, "file": wanted.file_name, "source": sources.shown(wanted.url)}
    add_audit(session, None, caller.name, "upload_fetched", facts)
    return upload.id


def _in_catalogue(body: UploadFetch, model: CatalogueModel, settings: Settings) -> _Wanted:
    if not settings.upload_catalogue:
        remedy = "BAPO_UPLOAD_CATALOGUE is off: upload the model, or ask an administrator to set it to true"
        raise Problem(403, "no_fetches", remedy, field="url", value=body.url)
    return _Wanted("model", f"{model.name}.whl", body.url)


def _at_address(body: UploadFetch, settings: Settings) -> _Wanted:
    if settings.upload_policy.permits_nothing:
        remedy = "this server fetches no files: upload it, or ask an administrator to permit hosts in BAPO_UPLOAD_HOSTS"
        raise Problem(403, "no_fetches", remedy, field="url", value=sources.shown(body.url))
    wanted = sources.repository_of(body.url)
    url = body.url if wanted else sources.address_of(body.url, settings.upload_hub_url)
    target = destination(settings.upload_hub_url if wanted else url)
    settings.upload_policy.check_name(target.host)
    permitted_addresses(target, settings.upload_policy)
    if wanted:
        # The ending of a data set is that of its files, once they are known.
        return _Wanted(wanted.kind, PurePath(wanted.name).name + (".zip" if wanted.kind == "model" else ""), url)
    file_name = body.file_name or sources.file_name_of(url)
    kind: UploadKind = "model" if PurePath(file_name).suffix.lower() in ENDINGS["model"] else "dataset"
    _check_ending(kind, file_name, "file_name" if body.file_name else "url")
    return _Wanted(kind, file_name, url)


def take_part(
    session: Session, upload_id: str, offset: int, crc32: int, content: bytes, caller: Principal, settings: Settings
) -> None:
    """Store a part, if it begins where the upload ends; one that came before, or too early, changes nothing.

    Raises Problem 422 for a part that was damaged on its way, that lies beyond the end, or that shows that the file is
    not what its name says; 507 where the disk refuses.
    """
    upload = lock_own(session, upload_id, caller)
    if upload.state != "receiving" or offset != upload.received_bytes or not content:
        return
    if offset + len(content) > upload.num_bytes:
        remedy = f"the upload was announced with {upload.num_bytes:,} bytes: begin another for a longer file"
        raise Problem(422, "invalid_request", remedy, field="offset", value=offset)
    if zlib.crc32(content) != crc32:
        remedy = "the part was damaged on its way: send it again"
        raise Problem(422, "damaged", remedy, field="crc32", value=crc32)
    if offset == 0:
        check_file_beginning(upload, content)
    try:
        UploadStore(settings.upload_store).append(upload.id, offset, content)
    except StoreError as error:
        raise Problem(507, "no_space", f"{error}: tell an administrator, and go on later") from None
    upload.crc32 = zlib.crc32(content, upload.crc32)
    upload.received_bytes = offset + len(content)
    repository.touch(session, upload.id)


def finish(session: Session, upload_id: str, body: UploadFinish, caller: Principal, settings: Settings) -> None:
    """Start the check of a complete upload. Repeating the call changes nothing. Raises Problem 409 and 422."""
    upload = lock_own(session, upload_id, caller)
    if upload.state != "receiving":
        return
    if upload.received_bytes < upload.num_bytes:
        remedy = f"{upload.num_bytes - upload.received_bytes:,} bytes are missing: send them from next_offset on"
        raise Problem(409, "incomplete", remedy, field="num_bytes", value=upload.num_bytes)
    if body.sha256 is not None and _digest(UploadStore(settings.upload_store), upload.id) != body.sha256:
        remedy = "what arrived is another file than was sent: delete the upload and begin again"
        raise Problem(422, "damaged", remedy, field="sha256", value=body.sha256)
    upload.state = "checking"
    repository.touch(session, upload.id)


def _digest(store: UploadStore, upload_id: str) -> str:
    with store.received(upload_id).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_again(session: Session, upload_id: str, body: UploadCheck, caller: Principal) -> None:
    """Check with other columns. Raises Problem 409 where it is not whole, or failed, and 422 for unknown columns."""
    upload = lock_own(session, upload_id, caller)
    if upload.kind != "dataset" or upload.state not in ("checking", "checked"):
        remedy = f"a {upload.kind} that is {upload.state} has no columns to check"
        raise Problem(409, "not_checkable", remedy, field="state", value=upload.state)
    named = (*REQUIRED[body.task], *OPTIONAL[body.task])
    foreign = next((name for name in body.columns if name not in named), None)
    if foreign is not None:
        remedy = f"problems of the task {body.task} have the parts {', '.join(named)}: name columns for these"
        raise Problem(422, "invalid_request", remedy, field="columns", value=foreign)
    mapping = ColumnMapping(
        task=body.task,
        columns={ours: theirs for ours, theirs in body.columns.items() if theirs},
        verifier=body.verifier,
    )
    found = (upload.result or {}).get("preview")
    seen = None if found is None else DataPreview.model_validate(found)
    unknown = next((column for column in mapping.columns.values() if seen is not None and not seen.has(column)), None)
    if seen is not None and unknown is not None:
        remedy = f"the file has no such column in its first rows: use one of {', '.join(seen.choices)}"
        raise Problem(422, "invalid_request", remedy, field="columns", value=unknown)
    upload.mapping = mapping.model_dump(mode="json")
    upload.state = "checking"
    repository.touch(session, upload.id)


def delete(session: Session, upload_id: str, caller: Principal, settings: Settings) -> None:
    """Delete an upload, wherever it is."""
    upload = lock_own(session, upload_id, caller)
    add_audit(session, None, caller.name, "upload_deleted", {"upload_id": upload.id, "file": upload.file_name})
    session.delete(upload)
    session.flush()
    UploadStore(settings.upload_store).remove(upload.id)


def expire(database: Database, settings: Settings) -> None:
    """Delete abandoned uploads, unused content, and files that belong to nothing."""
    store = UploadStore(settings.upload_store)
    with database.session() as session, session.begin():
        repository.remove(session, repository.expired(session, settings.upload_hours))
    with database.session() as session, session.begin():
        unused = [(version.id, version.path) for version in repository.unused(session, settings.upload_hours)]
        repository.remove_versions(session, [version_id for version_id, _ in unused])
    # Rows first: files without a row are found again below, and do no harm until then.
    for _, path in unused:
        store.remove_content(Path(path))
    present = list(store.identifiers())
    with database.session() as session:
        known = repository.known(session, present)
    for upload_id in set(present) - known:
        store.remove(upload_id)
