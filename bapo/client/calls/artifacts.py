"""Downloads of a run, and what workers do for them."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.artifacts import ArtifactCreate, ArtifactInfo, ArtifactPage
from bapo.api.maintenance_jobs import (
    ArtifactFailure,
    ArtifactFinish,
    DeletionOutcome,
    FolderSizes,
    MaintenanceJobs,
    MaintenanceJobsRequest,
    UploadProgress,
)
from bapo.client.call import Call, Endpoint, answer, get, nothing, post, run_path


def _of_worker(artifact_id: str, what: str) -> str:
    return f"/workers/artifacts/{quote(artifact_id, safe='')}/{what}"


class ArtifactCalls:
    """Files made of a run to be downloaded; `Client.download` fetches one."""

    @Endpoint
    def artifacts(self, run_id: str) -> Call[ArtifactPage]:
        """The downloads of a run, newest first."""
        return get(run_path(run_id, "artifacts"), ArtifactPage)

    @Endpoint
    def request_artifact(self, run_id: str, body: ArtifactCreate) -> Call[ArtifactInfo]:
        """Ask for a file; one that is there and up to date, or on its way, is answered again."""
        return post(run_path(run_id, "artifacts"), ArtifactInfo, body)

    @Endpoint
    def artifact(self, run_id: str, artifact_id: str) -> Call[ArtifactInfo]:
        """One download: how far it is."""
        return get(run_path(run_id, "artifacts", quote(artifact_id, safe="")), ArtifactInfo)

    @Endpoint
    def delete_artifact(self, run_id: str, artifact_id: str) -> Call[None]:
        """Take a download away."""
        return Call("DELETE", run_path(run_id, "artifacts", quote(artifact_id, safe="")), nothing)

    @Endpoint
    def maintenance_jobs(self, body: MaintenanceJobsRequest) -> Call[MaintenanceJobs]:
        """A worker asks what to pack, measure and delete."""
        return post("/workers/chores", MaintenanceJobs, body)

    @Endpoint
    def upload_artifact(
        self, artifact_id: str, worker_id: str, offset: int, num_bytes: int, content: bytes
    ) -> Call[UploadProgress]:
        """A piece of a packed artifact, of so many bytes in all; answers which piece is wanted next."""
        return Call(
            "PUT",
            _of_worker(artifact_id, "content"),
            answer(UploadProgress),
            params={"worker_id": worker_id, "offset": offset, "num_bytes": num_bytes},
            content=content,
        )

    @Endpoint
    def finish_artifact(self, artifact_id: str, body: ArtifactFinish) -> Call[ArtifactInfo]:
        """All pieces are there: the server compares the checksum."""
        return post(_of_worker(artifact_id, "finish"), ArtifactInfo, body)

    @Endpoint
    def fail_artifact(self, artifact_id: str, body: ArtifactFailure) -> Call[None]:
        """An artifact cannot be made."""
        return Call("POST", _of_worker(artifact_id, "failure"), nothing, body=body)

    @Endpoint
    def note_deletion(self, deletion_id: int, body: DeletionOutcome) -> Call[None]:
        """A worker says whether it deleted a folder."""
        return Call("POST", f"/workers/deletions/{deletion_id}", nothing, body=body)

    @Endpoint
    def note_folder_sizes(self, body: FolderSizes) -> Call[None]:
        """A worker says what run folders take up."""
        return Call("POST", "/workers/folders", nothing, body=body)
