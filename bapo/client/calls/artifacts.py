"""Checkpoints, downloads and chats of a run, disk space, deletion, and what workers do for them."""

from __future__ import annotations

from bapo.api.artifacts import ArtifactCreate, ArtifactInfo, ArtifactPage, CheckpointPage
from bapo.api.chats import ChatCreate, ChatInfo, ChatPage, ChatReport
from bapo.api.maintenance_jobs import (
    ArtifactFailure,
    ArtifactFinish,
    DeletionOutcome,
    FolderSizes,
    MaintenanceJobs,
    MaintenanceJobsRequest,
    UploadProgress,
)
from bapo.api.service import Diagnosis
from bapo.api.storage import CompactReport, DeletionPreview, DeletionRequest, StorageState
from bapo.client.call import route


class ArtifactCalls:
    """Checkpoints, and files made of a run to be downloaded; `Client.download` fetches one. Disk space and deletion."""

    @route("GET /runs/{run_id}/artifacts")
    def artifacts(self, run_id: str) -> ArtifactPage:
        """Return the downloads of a run, newest first."""

    @route("POST /runs/{run_id}/artifacts")
    def request_artifact(self, run_id: str, body: ArtifactCreate) -> ArtifactInfo:
        """Request a file; if an up-to-date one exists or is being made, that one is returned."""

    @route("GET /runs/{run_id}/artifacts/{artifact_id}")
    def artifact(self, run_id: str, artifact_id: str) -> ArtifactInfo:
        """Return one download and its progress."""

    @route("DELETE /runs/{run_id}/artifacts/{artifact_id}")
    def delete_artifact(self, run_id: str, artifact_id: str) -> None:
        """Delete a download."""

    @route("GET /runs/{run_id}/chats")
    def chats(self, run_id: str) -> ChatPage:
        """Return the newest chats with the run's models, and whether they can be asked."""

    @route("POST /runs/{run_id}/chats")
    def create_chat(self, run_id: str, body: ChatCreate) -> ChatInfo:
        """Ask the run's models something; one message of a person at a time."""

    @route("GET /runs/{run_id}/chats/{chat_id}")
    def chat(self, run_id: str, chat_id: str) -> ChatInfo:
        """Return one chat with what there is of its answers."""

    @route("DELETE /runs/{run_id}/chats/{chat_id}")
    def delete_chat(self, run_id: str, chat_id: str) -> None:
        """Delete a chat; one that is being answered ends."""

    @route("POST /workers/chats/{chat_id}")
    def report_chat(self, chat_id: str, body: ChatReport) -> None:
        """Report, as a worker, the answers so far."""

    @route("POST /workers/chores")
    def maintenance_jobs(self, body: MaintenanceJobsRequest) -> MaintenanceJobs:
        """Ask, as a worker, what to pack, measure, delete and answer."""

    @route("PUT /workers/artifacts/{artifact_id}/content")
    def upload_artifact(
        self, artifact_id: str, worker_id: str, offset: int, num_bytes: int, content: bytes
    ) -> UploadProgress:
        """Upload a piece of a packed artifact of `num_bytes` in all. Returns the offset of the next piece."""

    @route("POST /workers/artifacts/{artifact_id}/finish")
    def finish_artifact(self, artifact_id: str, body: ArtifactFinish) -> ArtifactInfo:
        """Finish an artifact: all its pieces are uploaded, and the server compares the checksum."""

    @route("POST /workers/artifacts/{artifact_id}/failure")
    def fail_artifact(self, artifact_id: str, body: ArtifactFailure) -> None:
        """Report that an artifact cannot be made."""

    @route("POST /workers/deletions/{deletion_id}")
    def note_deletion(self, deletion_id: int, body: DeletionOutcome) -> None:
        """Report whether the worker deleted a folder."""

    @route("POST /workers/folders")
    def note_folder_sizes(self, body: FolderSizes) -> None:
        """Report how much space run folders take up on the worker."""

    @route("GET /runs/{run_id}/checkpoints")
    def checkpoints(self, run_id: str) -> CheckpointPage:
        """Return the checkpoints that the run keeps, newest first."""

    @route("GET /storage")
    def storage(self, limit: int | None = None) -> StorageState:
        """Return the disk space of all runs, retention, and pending deletions."""

    @route("DELETE /storage/deletions/{deletion_id}")
    def give_up_deletion(self, deletion_id: int) -> None:
        """Forget a deletion that no worker will ever carry out: its machine is gone."""

    @route("POST /storage/compact")
    def compact_database(self) -> CompactReport:
        """Give free space inside the database back to the disk; writing waits meanwhile."""

    @route("POST /runs/deletion")
    def preview_deletion(self, body: DeletionRequest) -> DeletionPreview:
        """Preview the deletion of these runs; nothing is deleted."""

    @route("GET /diagnosis")
    def diagnosis(self) -> Diagnosis:
        """Return the server's diagnosis of its deployment; for administrators."""
