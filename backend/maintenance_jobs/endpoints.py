"""The workers' routes for what they do with run folders."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from backend.artifacts import service as artifacts
from backend.artifacts.store import ArtifactStore
from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import WorkerCaller
from backend.maintenance_jobs import service
from backend.workers.administration import worker_of
from bapo.api.artifacts import ArtifactInfo
from bapo.api.maintenance_jobs import (
    MAX_BYTES,
    ArtifactFailure,
    ArtifactFinish,
    ChoreRequest,
    Chores,
    DeletionOutcome,
    FolderSizes,
    UploadProgress,
)

router = new_router("workers")

_CONTENT = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
"""Read by `_piece`, which leaves no trace in the description."""


async def _piece(request: Request) -> bytes:
    # The middleware has limited its size.
    return await request.body()


Offset = Annotated[int, Query(ge=0, le=MAX_BYTES)]


@router.post("/workers/chores", summary="What a worker should do with run folders")
def take_chores(caller: WorkerCaller, session: DbSession, settings: SettingsOf, body: ChoreRequest) -> Chores:
    """Pack, delete, measure; what is not reported as done is named again."""
    return service.take(session, worker_of(session, body.worker_id, caller), settings)


@router.put("/workers/artifacts/{artifact_id}/content", summary="A piece of a packed artifact", openapi_extra=_CONTENT)
def put_piece(
    caller: WorkerCaller,
    session: DbSession,
    settings: SettingsOf,
    artifact_id: str,
    worker_id: Annotated[str, Query()],
    offset: Offset,
    num_bytes: Offset,
    content: Annotated[bytes, Depends(_piece)],
) -> UploadProgress:
    """Stored where it begins at the end of what is there; the answer says what is wanted next."""
    artifact = artifacts.lock_own(session, artifact_id, worker_id, caller)
    return artifacts.take_piece(session, artifact, offset, num_bytes, content, settings)


@router.post("/workers/artifacts/{artifact_id}/finish", summary="All of an artifact is uploaded")
def finish_artifact(
    caller: WorkerCaller, session: DbSession, settings: SettingsOf, artifact_id: str, body: ArtifactFinish
) -> ArtifactInfo:
    """The checksum is compared; the answer says whether the file is ready."""
    artifact = artifacts.lock_own(session, artifact_id, body.worker_id, caller)
    artifacts.finish(session, artifact, body, settings)
    return artifacts.info(artifact)


@router.post("/workers/artifacts/{artifact_id}/failure", status_code=204, summary="An artifact cannot be made")
def fail_artifact(
    caller: WorkerCaller, session: DbSession, settings: SettingsOf, artifact_id: str, body: ArtifactFailure
) -> None:
    """With the reason, which people read."""
    artifact = artifacts.lock_own(session, artifact_id, body.worker_id, caller)
    artifacts.fail(artifact, body.reason, ArtifactStore(settings.artifact_store))


@router.post("/workers/deletions/{deletion_id}", status_code=204, summary="What became of a deletion")
def note_deletion(
    caller: WorkerCaller, session: DbSession, settings: SettingsOf, deletion_id: int, body: DeletionOutcome
) -> None:
    """Told again, nothing more happens."""
    service.note_deletion(session, worker_of(session, body.worker_id, caller), deletion_id, body, settings)


@router.post("/workers/folders", status_code=204, summary="What run folders take up")
def note_folder_sizes(caller: WorkerCaller, session: DbSession, settings: SettingsOf, body: FolderSizes) -> None:
    """Of the worker's own machine."""
    service.note_sizes(session, worker_of(session, body.worker_id, caller), list(body.folders), settings)
