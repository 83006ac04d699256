"""Routes for the downloads of a run."""

from __future__ import annotations

from pathlib import Path

from fastapi.responses import FileResponse

from backend.files.artifacts import repository, service
from backend.files.artifacts.store import ArtifactStore
from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Reader, Writer
from backend.runs import repository as runs
from backend.runs.access import lock_own
from bapo.api.artifacts import ArtifactCreate, ArtifactInfo, ArtifactPage

router = new_router("artifacts")

_TYPES = {
    ".zip": "application/zip",
    ".html": "text/html; charset=utf-8",
    ".toml": "application/toml",
    ".log": "text/plain; charset=utf-8",
    ".jsonl": "application/jsonl",
}
_PLAIN = {"text/plain": {"schema": {"type": "string"}}}


@router.get("/runs/{run_id}/artifacts", summary="List a run's downloads")
def list_artifacts(_: Reader, session: DbSession, run_id: str) -> ArtifactPage:
    """List the downloads of a run, newest first, including those that expired or failed."""
    runs.get(session, run_id)
    return ArtifactPage(items=[service.info(each) for each in repository.of_run(session, run_id)])


@router.post("/runs/{run_id}/artifacts", status_code=202, summary="Request a download")
def request_artifact(
    caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: ArtifactCreate
) -> ArtifactInfo:
    """Pack the files on the machine that has the run's folder, then upload them. Returns an up-to-date download if
    there is one.
    """
    run = runs.lock(session, run_id)
    return service.info(service.request(session, run, body, caller, settings))


@router.get("/runs/{run_id}/artifacts/{artifact_id}", summary="Get a download")
def get_artifact(_: Reader, session: DbSession, run_id: str, artifact_id: str) -> ArtifactInfo:
    """Get the state, size and checksum of a download."""
    return service.info(repository.get(session, run_id, artifact_id))


@router.delete("/runs/{run_id}/artifacts/{artifact_id}", status_code=204, summary="Delete a download")
def delete_artifact(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, artifact_id: str) -> None:
    """Delete a download and its file. It can be requested again."""
    artifact = repository.get(session, run_id, artifact_id)
    if artifact.author != caller.name:
        lock_own(session, run_id, caller)
    service.delete(session, artifact, caller, ArtifactStore(settings.artifact_store))


@router.get(
    "/runs/{run_id}/artifacts/{artifact_id}/content",
    summary="Download the file",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        206: {"description": "The part that the header Range names."},
        400: {"description": "The header Range is malformed.", "content": _PLAIN},
        416: {"description": "The header Range names no part of the file.", "content": _PLAIN},
    },
)
def download_artifact(
    _: Reader, session: DbSession, settings: SettingsOf, run_id: str, artifact_id: str
) -> FileResponse:
    """Stream the file. `Range` resumes an interrupted download. 409 until it is ready, 410 once it has expired."""
    artifact = repository.get(session, run_id, artifact_id)
    store = ArtifactStore(settings.artifact_store)
    service.check_ready(artifact, store)
    headers = {
        "ETag": f'"{artifact.sha256}"',
        # Asked again whether it still may be read; a browser can go on with a part that it has.
        "Cache-Control": "private, no-cache",
        # If a browser displays it: as a page without an origin and without scripts.
        "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    }
    media_type = _TYPES[Path(artifact.file_name).suffix]
    return FileResponse(store.path(artifact.id), filename=artifact.file_name, media_type=media_type, headers=headers)
