"""Checkpoints and downloads of a run, and what workers do for them."""

from __future__ import annotations

from bapo.api.artifacts import ArtifactCreate, ArtifactInfo, ArtifactPage
from bapo.api.checkpoints import CheckpointPage
from bapo.api.maintenance_jobs import (
    ArtifactFailure,
    ArtifactFinish,
    DeletionOutcome,
    FolderSizes,
    MaintenanceJobs,
    MaintenanceJobsRequest,
    UploadProgress,
)
from bapo.client.call import route


class ArtifactCalls:
    """Checkpoints, and files made of a run to be downloaded; `Client.download` fetches one."""

    @route("GET /runs/{run_id}/artifacts")
    def artifacts(self, run_id: str) -> ArtifactPage:
        """Return the downloads of a run, newest first."""

    @route("POST /runs/{run_id}/artifacts")
    def request_artifact(self, run_id: str, body: ArtifactCreate) -> ArtifactInfo:
        """Ask for a file; one that is there and up to date, or on its way, is answered again."""

    @route("GET /runs/{run_id}/artifacts/{artifact_id}")
    def artifact(self, run_id: str, artifact_id: str) -> ArtifactInfo:
        """Return one download: how far it is."""

    @route("DELETE /runs/{run_id}/artifacts/{artifact_id}")
    def delete_artifact(self, run_id: str, artifact_id: str) -> None:
        """Take a download away."""

    @route("POST /workers/chores")
    def maintenance_jobs(self, body: MaintenanceJobsRequest) -> MaintenanceJobs:
        """Return a worker asks what to pack, measure and delete."""

    @route("PUT /workers/artifacts/{artifact_id}/content")
    def upload_artifact(
        self, artifact_id: str, worker_id: str, offset: int, num_bytes: int, content: bytes
    ) -> UploadProgress:
        """Return a piece of a packed artifact, of so many bytes in all; answers which piece is wanted next."""

    @route("POST /workers/artifacts/{artifact_id}/finish")
    def finish_artifact(self, artifact_id: str, body: ArtifactFinish) -> ArtifactInfo:
        """Return all pieces are there: the server compares the checksum."""

    @route("POST /workers/artifacts/{artifact_id}/failure")
    def fail_artifact(self, artifact_id: str, body: ArtifactFailure) -> None:
        """An artifact cannot be made."""

    @route("POST /workers/deletions/{deletion_id}")
    def note_deletion(self, deletion_id: int, body: DeletionOutcome) -> None:
        """A worker says whether it deleted a folder."""

    @route("POST /workers/folders")
    def note_folder_sizes(self, body: FolderSizes) -> None:
        """A worker says what run folders take up."""

    @route("GET /runs/{run_id}/checkpoints")
    def checkpoints(self, run_id: str) -> CheckpointPage:
        """Return the checkpoints that the run keeps, newest first."""
