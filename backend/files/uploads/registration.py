"""Registers checked uploads: content under a name, as a version of it."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from backend.files.resources import repository as resources
from backend.files.uploads import repository, service
from backend.files.uploads.models import ModelResult
from backend.files.uploads.sources import shown
from backend.files.uploads.store import StoreError, UploadStore
from backend.identity.audit.repository import add_audit
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.models import Resource, ResourceVersion, Upload
from backend.settings.environment import Settings
from bapo.api.uploads import Registered, UploadRegister
from bapo.own_data.job import CheckResult


def register(
    session: Session, upload_id: str, body: UploadRegister, caller: Principal, settings: Settings
) -> Registered:
    """Give the content its name; the upload ends.

    Raises Problem 403 if another user owns the name, 409 if the upload cannot be registered or has warnings that
    were not accepted, or if the name is that of a file registered by its path; 507 if the disk is full or fails.
    """
    upload = service.lock_own(session, upload_id, caller)
    content = _content(upload, body)
    repository.lock_project(session, upload.project_id)
    resource = _resource(session, upload, body, caller)
    store = UploadStore(settings.upload_store)
    path = store.content(upload.project_id, content.sha256, f"{body.name}{content.source.suffix}")
    version, is_new = _version(session, resource, upload, body, content, path, caller)
    try:
        store.keep(content.source, path)
    except StoreError as error:
        raise Problem(507, "no_space", f"{error}: tell an administrator, and try again") from None
    if version.number == repository.newest_number(session, resource.id):
        resource.path, resource.details = version.path, dict(version.details)
        resource.description = body.description or resource.description
    facts = {"kind": upload.kind, "name": body.name, "version": version.number, "sha256": content.sha256}
    add_audit(session, None, caller.name, "registered", facts)
    session.delete(upload)
    session.flush()
    return Registered(resource_id=resource.id, name=resource.name, version=version.number, is_new=is_new)


class _Content:
    """Checked content that is ready to be registered."""

    def __init__(self, source: Path, digest: str, files: Mapping[str, Any], details: Mapping[str, Any]) -> None:
        self.source, self.sha256, self.files, self.details = source, digest, files, details


def _content(upload: Upload, body: UploadRegister) -> _Content:
    if upload.state != "checked":
        remedy = f"the upload is {upload.state}: it can be registered once it is checked"
        raise Problem(409, "not_checked", remedy, field="state", value=upload.state)
    if upload.kind == "model":
        model = ModelResult.model_validate(upload.result)
        assert model.path is not None, "checked without a problem"
        files = {each.name: {"sha256": each.sha256, "num_bytes": each.num_bytes} for each in model.files}
        listed = "".join(f"{each.sha256} {each.name}\n" for each in sorted(model.files, key=lambda each: each.name))
        return _Content(model.path, sha256(listed.encode()).hexdigest(), files, model.details)
    result = CheckResult.model_validate(upload.result)
    if result.path is None or result.sha256 is None or result.report is None or result.mapping is None:
        remarks = result.report.remarks if result.report is not None else ()
        reason = result.problem or next((remark.text for remark in remarks), None) or "columns are missing: name them"
        raise Problem(409, "refused", reason, field="file_name", value=upload.file_name)
    warnings = result.report.warnings
    if warnings and not body.accepts_warnings:
        remedy = f"read the warnings first, and say so: {' '.join(warnings)}"
        raise Problem(409, "has_warnings", remedy, field="accepts_warnings", value=False)
    details = {
        "columns": list(result.columns),
        "num_rows": result.report.num_kept,
        "num_bytes": result.num_bytes,
        "task": result.mapping.task,
        "verifier": result.mapping.verifier,
        "longest_prompt": result.report.longest_prompt,
    }
    files = {"": {"sha256": result.sha256, "num_bytes": result.num_bytes}}
    return _Content(result.path, result.sha256, files, details)


def _resource(session: Session, upload: Upload, body: UploadRegister, caller: Principal) -> Resource:
    """Return the resource of that name, or a new one."""
    known = resources.named(session, upload.project_id, upload.kind, body.name)  # type: ignore[arg-type]
    if known is None:
        known = Resource(
            project_id=upload.project_id,
            kind=upload.kind,
            name=body.name,
            path="",
            function=None,
            description=body.description,
            owner_id=caller.id,
            details={},
        )
        session.add(known)
        session.flush()
    elif not resources.versions(session, [known.id]):
        remedy = (
            f"a {upload.kind} with this name is registered by its path: choose another name, or unregister that one"
        )
        raise Problem(409, "name_taken", remedy, field="name", value=body.name)
    elif not caller.may_change(known):
        remedy = "only its owner and administrators may add a version to this name: choose another name"
        raise Problem(403, "forbidden", remedy, field="name", value=body.name)
    return known


def _version(
    session: Session,
    resource: Resource,
    upload: Upload,
    body: UploadRegister,
    content: _Content,
    path: Path,
    caller: Principal,
) -> tuple[ResourceVersion, bool]:
    """Return the version with this content, and whether the name did not have it before."""
    known = repository.version_at(session, str(path))
    if known is not None and known.resource_id == resource.id:
        return known, False
    number = repository.newest_number(session, resource.id) + 1
    if known is not None:
        # Its name was taken away, and runs still refer to it.
        known.resource_id, known.number = resource.id, number
        session.flush()
        return known, True
    # That of a model of the catalogue is known.
    licence = body.licence or str(content.details.get("licence", ""))
    version = ResourceVersion(
        project_id=upload.project_id,
        resource_id=resource.id,
        number=number,
        sha256=content.sha256,
        path=str(path),
        files=dict(content.files),
        num_bytes=sum(each["num_bytes"] for each in content.files.values()),
        file_name=upload.file_name,
        licence=licence,
        owner_id=caller.id,
        details={**content.details, **_origin(upload), "licence": licence},
        report=(upload.result or {}).get("report"),
    )
    session.add(version)
    session.flush()
    return version, True


def _origin(upload: Upload) -> Mapping[str, str]:
    return {} if upload.source is None else {"source": shown(upload.source)}
