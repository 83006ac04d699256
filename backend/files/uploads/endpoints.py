"""Routes for uploads, and for workers that fetch what was uploaded."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request
from fastapi.responses import FileResponse

from backend.files.uploads import contents, registration, repository, service
from backend.files.uploads.checker import UploadChecker
from backend.files.uploads.fetcher import UploadFetcher
from backend.identity.auth import repository as accounts
from backend.kit.context import ContextOf, DbSession, SettingsOf, new_router
from backend.kit.permissions import Reader, WorkerCaller, Writer
from bapo.api.uploads import (
    MOST_BYTES,
    Registered,
    UploadCheck,
    UploadCreate,
    UploadFetch,
    UploadFinish,
    UploadInfo,
    UploadPage,
    UploadRegister,
)

router = new_router("uploads")

_CONTENT = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
"""Read by `_part`, which leaves no trace in the description."""
_BYTES = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
_PLAIN = {"text/plain": {"schema": {"type": "string"}}}


async def _part(request: Request) -> bytes:
    # The middleware has limited its size.
    return await request.body()


@router.get("/uploads", summary="List your uploads")
def list_uploads(caller: Reader, session: DbSession, settings: SettingsOf) -> UploadPage:
    """List the caller's uploads that are not registered yet, newest first, and how much room there is."""
    projects = accounts.projects(session)
    used = repository.used_bytes(session, [project.id for project in projects])
    return UploadPage(
        items=[service.info(row, settings) for row in repository.rows(session, caller.id)],
        max_bytes=settings.upload_max_bytes,
        quota_bytes=settings.upload_quota_bytes,
        used_bytes={project.name: used[project.id] for project in projects},
        fetch_hosts=settings.upload_policy.named,
        catalogue=service.catalogue(settings),
    )


@router.post("/uploads", status_code=201, summary="Begin an upload")
def begin_upload(caller: Writer, session: DbSession, settings: SettingsOf, body: UploadCreate) -> UploadInfo:
    """Begin an upload, or go on with one of the same project, name and size that the caller has begun.

    Before you resume, compare `crc32` with that of the file's first `next_offset` bytes, so as not to join two files.
    """
    return service.info(repository.row(session, service.begin(session, body, caller, settings)), settings)


@router.post("/uploads/fetch", status_code=201, summary="Fetch an upload")
def fetch_upload(caller: Writer, session: DbSession, context: ContextOf, body: UploadFetch) -> UploadInfo:
    """Fetch a file on the server by its URL or its name on the hub, from the hosts that the deployment permits.

    It is then checked as if it had been sent; ask for its state.
    """
    upload_id = service.begin_fetch(session, body, caller, context.settings)
    context.part(UploadFetcher).wake()
    return service.info(repository.row(session, upload_id), context.settings)


@router.get("/uploads/{upload_id}", summary="Get an upload")
def get_upload(caller: Reader, session: DbSession, settings: SettingsOf, upload_id: str) -> UploadInfo:
    """Get how far an upload is: the byte to send next, or what the check found."""
    return service.info(service.own(session, upload_id, caller), settings)


@router.put("/uploads/{upload_id}/content", summary="Upload a part", openapi_extra=_CONTENT)
def put_part(
    caller: Writer,
    session: DbSession,
    settings: SettingsOf,
    upload_id: str,
    offset: Annotated[int, Query(ge=0, le=MOST_BYTES)],
    crc32: Annotated[int, Query(ge=0, lt=2**32, description="Of the part.")],
    content: Annotated[bytes, Depends(_part)],
) -> UploadInfo:
    """Append the part if it begins at `next_offset` and its CRC-32 is this; otherwise nothing changes.

    Returns the offset to send next, so that a part whose answer was lost can be sent again.
    """
    service.take_part(session, upload_id, offset, crc32, content, caller, settings)
    return service.info(repository.row(session, upload_id), settings)


@router.post("/uploads/{upload_id}/finish", summary="Finish an upload")
def finish_upload(
    caller: Writer, session: DbSession, context: ContextOf, upload_id: str, body: UploadFinish
) -> UploadInfo:
    """Say that every part is there. The server then proposes columns and checks the file; ask for its state."""
    service.finish(session, upload_id, body, caller, context.settings)
    context.part(UploadChecker).wake()
    return service.info(repository.row(session, upload_id), context.settings)


@router.post("/uploads/{upload_id}/check", summary="Check an upload again")
def check_upload(
    caller: Writer, session: DbSession, context: ContextOf, upload_id: str, body: UploadCheck
) -> UploadInfo:
    """Check an uploaded data set with other columns or another verifier; ask for its state."""
    service.check_again(session, upload_id, body, caller)
    context.part(UploadChecker).wake()
    return service.info(repository.row(session, upload_id), context.settings)


@router.post("/uploads/{upload_id}/register", summary="Register an upload")
def register_upload(
    caller: Writer, session: DbSession, settings: SettingsOf, upload_id: str, body: UploadRegister
) -> Registered:
    """Register a checked upload under a name; configs refer to it as `@name`. The upload ends.

    The same content under the same name is the same version, other content the next one.
    """
    return registration.register(session, upload_id, body, caller, settings)


@router.delete("/uploads/{upload_id}", status_code=204, summary="Delete an upload")
def delete_upload(caller: Writer, session: DbSession, settings: SettingsOf, upload_id: str) -> None:
    """Delete an upload that is not registered, with all that was received."""
    service.delete(session, upload_id, caller, settings)


@router.get(
    "/workers/runs/{run_id}/contents/{sha256}",
    summary="Download uploaded content",
    tags=["workers"],
    response_class=FileResponse,
    responses={
        200: _BYTES,
        206: {"description": "The part that the header Range names."},
        400: {"description": "The header Range is malformed.", "content": _PLAIN},
        416: {"description": "The header Range names no part of the file.", "content": _PLAIN},
    },
)
def download_content(caller: WorkerCaller, session: DbSession, run_id: str, sha256: str) -> FileResponse:
    """Return a file of the uploaded data or model that the worker's run names, by its SHA-256."""
    return FileResponse(contents.file_of(session, run_id, sha256, caller), media_type="application/octet-stream")
