"""Requests downloads and moves them through their states: requested, preparing, ready, then expired or failed."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.orm import Session

from backend.files.artifacts import repository
from backend.files.artifacts.store import ArtifactStore, StoreError
from backend.identity.audit.repository import add_audit
from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem, not_found
from backend.kit.principal import Principal
from backend.models import Artifact, Run
from backend.runs.checkpoints import service as checkpoints
from backend.settings.environment import Settings
from backend.workers.administration import worker_of
from bapo.api.artifacts import ArtifactCreate, ArtifactInfo
from bapo.api.maintenance_jobs import ArtifactFinish, UploadProgress
from bapo.api.runs import RunStatus
from bapo.run.artifacts import file_name

FROM_FOLDER = frozenset({"checkpoint", "journal"})
"""Made of the run's folder, where it is; the others of what the server has stored."""


def info(artifact: Artifact) -> ArtifactInfo:
    """Return the artifact for people."""
    return rendered(ArtifactInfo, artifact)


def request(session: Session, run: Run, body: ArtifactCreate, caller: Principal, settings: Settings) -> Artifact:
    """Make a request, or find the one whose file is the same. The run must be locked.

    Raises Problem 403 for who only looks into the project, 404 for a checkpoint that is not kept, and 409 where the run
    has nothing yet or the store is full.
    """
    if not caller.may_write_in(run.project_id):
        remedy = "you have read access only to this run's project: ask one of its members"
        raise Problem(403, "forbidden", remedy, field="id", value=run.id)
    if body.step is not None:
        checkpoints.find(session, run, body.step)
    elif run.status is RunStatus.DRAFT and body.kind != "config":
        raise Problem(409, "nothing_yet", "a draft has recorded nothing: start it first", field="kind", value=body.kind)
    for known in repository.of_run(session, run.id):
        if (known.kind, known.step) == (body.kind, body.step) and _is_current(known, run):
            return known
    if repository.used_bytes(session, but="") >= settings.artifact_quota_bytes:
        raise Problem(409, "artifact_quota", _full(settings))
    artifact = Artifact(
        run_id=run.id,
        kind=body.kind,
        step=body.step,
        run_step=run.step,
        state="requested",
        author=caller.name,
        host=run.host if body.kind in FROM_FOLDER else None,
        received_bytes=0,
        file_name=file_name(run.name, run.id, body.kind, body.step),
    )
    if artifact.host is not None:
        artifact.reason = f"waiting for the worker on {artifact.host}, which has the run's folder"
    session.add(artifact)
    session.flush()
    session.refresh(artifact)
    what = {"artifact_id": artifact.id, "kind": body.kind} | ({} if body.step is None else {"step": body.step})
    add_audit(session, run.id, caller.name, "artifact_requested", what)
    return artifact


def _is_current(artifact: Artifact, run: Run) -> bool:
    if artifact.state in repository.OPEN_STATES:
        return True
    # A checkpoint and a config stay what they are.
    has_changed = artifact.kind not in ("checkpoint", "config") and (
        artifact.run_step != run.step or run.finished_at is None or artifact.requested_at < run.finished_at
    )
    return artifact.state == "ready" and not has_changed


def _full(settings: Settings) -> str:
    gigabytes = settings.artifact_quota_bytes / 1e9
    return f"downloads have used up their {gigabytes:g} GB: delete some, or wait until they expire"


def delete(session: Session, artifact: Artifact, caller: Principal, store: ArtifactStore) -> None:
    """Take a download away, with its file."""
    add_audit(
        session, artifact.run_id, caller.name, "artifact_deleted", {"artifact_id": artifact.id, "kind": artifact.kind}
    )
    session.delete(artifact)
    session.flush()
    store.remove(artifact.id)


def check_ready(artifact: Artifact, store: ArtifactStore) -> None:
    """Raise Problem 409 if there is no file to download, 410 if there was one."""
    if artifact.state == "ready" and store.path(artifact.id).is_file():
        return
    if artifact.state in ("ready", "expired"):
        raise Problem(410, "artifact_expired", "the file has expired: request it again", field="id", value=artifact.id)
    reason = f"the file is not ready ({artifact.state}): {artifact.reason or 'wait a moment'}"
    raise Problem(409, "artifact_not_ready", reason, field="id", value=artifact.id)


# ---------------------------------------------------------------- from the worker that packs it


def lock_own(session: Session, artifact_id: str, worker_id: str, caller: Principal) -> Artifact:
    """Return an artifact that this worker packs. Raises Problem 404 for any other: the worker forgets it then."""
    worker = worker_of(session, worker_id, caller)
    artifact = repository.lock(session, artifact_id)
    if artifact is None or artifact.worker_id != worker.id or artifact.state not in ("preparing", "ready"):
        raise not_found("artifact", artifact_id)
    return artifact


def take_piece(
    session: Session, artifact: Artifact, offset: int, num_bytes: int, content: bytes, settings: Settings
) -> UploadProgress:
    """Store a piece of a file of so many bytes; what is wanted next. Raises Problem 422 for a piece beyond its end."""
    if offset + len(content) > num_bytes:
        raise Problem(422, "invalid_request", f"the file ends at {num_bytes}", field="offset", value=offset)
    if artifact.state == "ready":
        return UploadProgress(next_offset=num_bytes)
    store = ArtifactStore(settings.artifact_store)
    artifact.num_bytes = num_bytes
    if repository.used_bytes(session, but=artifact.id) + num_bytes > settings.artifact_quota_bytes:
        fail(artifact, _full(settings), store)
        return UploadProgress(next_offset=0, refused=artifact.reason)
    try:
        artifact.received_bytes = store.append(artifact.id, offset, content)
    except StoreError as error:
        raise Problem(507, "no_space", f"{error}: free some space on the server") from None
    return UploadProgress(next_offset=artifact.received_bytes)


def finish(session: Session, artifact: Artifact, body: ArtifactFinish, settings: Settings) -> None:
    """Mark the download as ready, or as failed if its checksum differs. Repeating the call changes nothing."""
    if artifact.state == "ready":
        return
    store = ArtifactStore(settings.artifact_store)
    if not store.complete(artifact.id, body.num_bytes, body.sha256):
        fail(artifact, "the file was damaged during upload: request it again", store)
        return
    make_ready(session, artifact, body.num_bytes, body.sha256, settings)


def make_ready(session: Session, artifact: Artifact, num_bytes: int, sha256: str, settings: Settings) -> None:
    """Mark a download as ready whose file is in the store."""
    now = clock(session)
    artifact.state = "ready"
    artifact.reason = None
    artifact.num_bytes = artifact.received_bytes = num_bytes
    artifact.sha256 = sha256
    artifact.ready_at = now
    artifact.expires_at = now + timedelta(days=settings.artifact_days)


def fail(artifact: Artifact, reason: str, store: ArtifactStore) -> None:
    """Mark a download as failed and remove its file."""
    artifact.state = "failed"
    artifact.reason = reason.replace("\x00", "\ufffd")
    artifact.received_bytes = 0
    artifact.num_bytes = None
    store.remove(artifact.id)
