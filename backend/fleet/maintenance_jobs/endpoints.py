"""Routes through which workers get and report maintenance jobs."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from backend.files.artifacts import service as artifacts
from backend.files.artifacts.store import ArtifactStore
from backend.fleet.maintenance_jobs import service
from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import WorkerCaller
from backend.readings.chats import service as chats
from backend.workers.administration import worker_of
from bapo.api.artifacts import ArtifactInfo
from bapo.api.chats import ChatReport
from bapo.api.maintenance_jobs import (
    MAX_BYTES,
    ArtifactFailure,
    ArtifactFinish,
    DeletionOutcome,
    FolderSizes,
    MaintenanceJobs,
    MaintenanceJobsRequest,
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


@router.post("/workers/chores", summary="Get maintenance jobs")
def get_maintenance_jobs(
    caller: WorkerCaller, session: DbSession, settings: SettingsOf, body: MaintenanceJobsRequest
) -> MaintenanceJobs:
    """Get the packing, deleting, measuring and chat jobs for a worker. A job is repeated until its completion is
    reported.
    """
    return service.take(session, worker_of(session, body.worker_id, caller), settings)


@router.put("/workers/artifacts/{artifact_id}/content", summary="Upload part of a download", openapi_extra=_CONTENT)
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
    """Append the part if it begins where the stored file ends. Returns the offset to send next."""
    artifact = artifacts.lock_own(session, artifact_id, worker_id, caller)
    return artifacts.take_piece(session, artifact, offset, num_bytes, content, settings)


@router.post("/workers/artifacts/{artifact_id}/finish", summary="Finish a download's upload")
def finish_artifact(
    caller: WorkerCaller, session: DbSession, settings: SettingsOf, artifact_id: str, body: ArtifactFinish
) -> ArtifactInfo:
    """Compare the checksum. Returns whether the file is ready."""
    artifact = artifacts.lock_own(session, artifact_id, body.worker_id, caller)
    artifacts.finish(session, artifact, body, settings)
    return artifacts.info(artifact)


@router.post("/workers/artifacts/{artifact_id}/failure", status_code=204, summary="Report a failed download")
def fail_artifact(
    caller: WorkerCaller, session: DbSession, settings: SettingsOf, artifact_id: str, body: ArtifactFailure
) -> None:
    """Report that a download cannot be made, with a reason for people to read."""
    artifact = artifacts.lock_own(session, artifact_id, body.worker_id, caller)
    artifacts.fail(artifact, body.reason, ArtifactStore(settings.artifact_store))


@router.post("/workers/deletions/{deletion_id}", status_code=204, summary="Report a deletion")
def note_deletion(
    caller: WorkerCaller, session: DbSession, settings: SettingsOf, deletion_id: int, body: DeletionOutcome
) -> None:
    """Report the outcome of deleting a run folder. A repeated report changes nothing."""
    service.note_deletion(session, worker_of(session, body.worker_id, caller), deletion_id, body, settings)


@router.post("/workers/folders", status_code=204, summary="Report folder sizes")
def note_folder_sizes(caller: WorkerCaller, session: DbSession, settings: SettingsOf, body: FolderSizes) -> None:
    """Report the sizes of run folders on the worker's machine."""
    service.note_sizes(session, worker_of(session, body.worker_id, caller), list(body.folders), settings)


@router.post("/workers/chats/{chat_id}", status_code=204, summary="Report a chat's answers")
def report_chat(caller: WorkerCaller, session: DbSession, chat_id: str, body: ChatReport) -> None:
    """Report what there is of the answers. 404 once the chat was deleted: the worker stops then."""
    chats.report(session, chat_id, body, caller)
