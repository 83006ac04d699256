"""Jobs on run folders besides training: delete folders, measure sizes, answer chats, pack and upload artifacts.

They run in a separate thread, so that a heartbeat never waits for a disk. Unfinished work is kept in a separate folder,
and the server repeats its jobs until they are done: after a restart, worker and server continue where they were.
"""

from __future__ import annotations

import logging
import shutil
import threading
from contextlib import suppress
from pathlib import Path

import httpx

from bapo.api.maintenance_jobs import (
    ArtifactFailure,
    ArtifactFinish,
    ChatJob,
    CheckpointSize,
    DeleteJob,
    DeletionOutcome,
    FolderSize,
    FolderSizes,
    MaintenanceJobsRequest,
    MeasureJob,
    PackJob,
)
from bapo.api.workers import ForkSource
from bapo.client import ApiError, Client
from bapo.files.safe_paths import files_inside
from bapo.report.isolated import draw_report
from bapo.run.artifacts import ArtifactError, PackedFile, pack, packed_as
from bapo.run.checkpoint import CHECKPOINTS_FOLDER, CheckpointError, checkpoint_step
from bapo.run.fork import ForkOrigin, begin_fork
from worker.chats import ChatAnswering
from worker.deletion import DeletingError, delete_part
from worker.run_folders import folder_here

PIECE_BYTES = 4 * 1024 * 1024
TIMEOUT_SECONDS = 600.0
"""The server compares the checksum of a file of many gigabytes within one request."""

log = logging.getLogger(__name__)


class MaintenanceJobThread(threading.Thread):
    """Works on jobs whenever a heartbeat says that there are some."""

    def __init__(self, client: Client, folder: Path) -> None:
        """Work with a client whose requests may take `TIMEOUT_SECONDS`."""
        super().__init__(name="maintenance jobs", daemon=True)
        self._client = client
        self._folder = folder
        self._wake = threading.Event()
        self._worker_id = ""
        self._runs_dir = Path()

    def wake(self, worker_id: str, runs_dir: Path) -> None:
        """Start on new jobs; `runs_dir`: where the runs lie on this machine."""
        self._worker_id, self._runs_dir = worker_id, runs_dir
        self._wake.set()

    def run(self) -> None:
        """Work until the process ends."""
        while True:
            self._wake.wait()
            self._wake.clear()
            try:
                self.work()
            except (httpx.TransportError, ApiError) as error:
                # The next heartbeat that arrives wakes us again.
                log.warning("maintenance jobs: %s", error)
            except OSError:
                log.exception("maintenance jobs: the disk refuses")

    def work(self) -> None:
        """Do one round of jobs, the quick ones first. Raises the client's errors, and OSError of the disk."""
        jobs = self._client.maintenance_jobs(MaintenanceJobsRequest(worker_id=self._worker_id))
        # First the files that another run may delete.
        for job in jobs.measure:
            if job.fork is not None:
                _keep_for_fork(self._run_folder(job), job.fork)
        for deletion in jobs.delete:
            self._delete(deletion)
        if jobs.measure:
            self._measure(list(jobs.measure))
        self._forget_all_but({job.artifact_id for job in jobs.pack})
        for chat in jobs.chat:
            answering = ChatAnswering(self._client, self._worker_id, chat, self._folder / chat.chat_id)
            answering.run(self._run_folder(chat))
        for packing in jobs.pack:
            self._pack(packing)

    def _run_folder(self, job: PackJob | DeleteJob | MeasureJob | ChatJob) -> Path:
        return folder_here(job.run_dir, self._runs_dir)

    # ------------------------------------------------------------ deleting and measuring

    def _delete(self, job: DeleteJob) -> None:
        reason = None
        try:
            delete_part(self._run_folder(job), job.part)
            log.info("deleted: %s of %s", job.part, job.run_dir)
        except (DeletingError, OSError) as error:
            reason = str(error)[:2_000]
            log.warning("%s of %s is not deleted: %s", job.part, job.run_dir, error)
        self._client.note_deletion(job.deletion_id, DeletionOutcome(worker_id=self._worker_id, reason=reason))

    def _measure(self, jobs: list[MeasureJob]) -> None:
        sizes = [folder_size(job.run_id, self._run_folder(job)) for job in jobs]
        self._client.note_folder_sizes(FolderSizes(worker_id=self._worker_id, folders=sizes))

    # ------------------------------------------------------------ packing and uploading

    def _pack(self, job: PackJob) -> None:
        try:
            path, packed = self._packed(job)
        except (ArtifactError, OSError) as error:
            reason = str(error) if isinstance(error, ArtifactError) else f"the worker's disk refuses: {error.strerror}"
            log.warning("artifact %s: %s", job.artifact_id, reason)
            failure = ArtifactFailure(worker_id=self._worker_id, reason=reason[:2_000])
            self._client.fail_artifact(job.artifact_id, failure)
            self._forget(job.artifact_id)
            return
        try:
            self._upload(job.artifact_id, path, packed)
        except ApiError as error:
            if error.status not in (404, 409, 422):
                raise
            log.warning("artifact %s is no longer wanted: %s", job.artifact_id, error)
        self._forget(job.artifact_id)

    def _packed(self, job: PackJob) -> tuple[Path, PackedFile]:
        """Return the packed file, created now or before a restart of this worker."""
        folder = self._folder / job.artifact_id
        path = folder / job.file_name
        known = packed_as(path)
        if known is not None:
            return path, known
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return path, pack(self._run_folder(job), job.kind, job.step, path, draw_report=draw_report)

    def _upload(self, artifact_id: str, path: Path, packed: PackedFile) -> None:
        offset = 0
        with path.open("rb") as file:
            # An empty piece asks how much of a large file the server has already.
            piece = file.read() if packed.num_bytes <= PIECE_BYTES else b""
            while True:
                answer = self._client.upload_artifact(artifact_id, self._worker_id, offset, packed.num_bytes, piece)
                if answer.refused is not None:
                    log.warning("artifact %s is refused: %s", artifact_id, answer.refused)
                    return
                if answer.next_offset == packed.num_bytes:
                    break
                offset = answer.next_offset
                file.seek(offset)
                piece = file.read(PIECE_BYTES)
        done = ArtifactFinish(worker_id=self._worker_id, num_bytes=packed.num_bytes, sha256=packed.sha256)
        self._client.finish_artifact(artifact_id, done)
        log.info("artifact %s: %d bytes uploaded", artifact_id, packed.num_bytes)

    def _forget(self, artifact_id: str) -> None:
        shutil.rmtree(self._folder / artifact_id, ignore_errors=True)

    def _forget_all_but(self, wanted: set[str]) -> None:
        if self._folder.is_dir():
            for folder in self._folder.iterdir():
                if folder.name not in wanted:
                    shutil.rmtree(folder, ignore_errors=True)


def _keep_for_fork(run_folder: Path, source: ForkSource) -> None:
    try:
        origin_folder = folder_here(source.run_dir, run_folder.parent)
        begin_fork(run_folder, origin_folder, ForkOrigin(run_id=source.run_id, step=source.step))
    except (CheckpointError, OSError) as error:
        # The start of the fork will report the error, unless there is room by then.
        log.warning("fork %s: %s", run_folder.name, error)


def folder_size(run_id: str, run_folder: Path) -> FolderSize:
    """Return the size of a run's folder, the sum of its files; 0 if it is missing."""
    total = 0
    checkpoints: dict[int, int] = {}
    with suppress(FileNotFoundError, NotADirectoryError):
        for found in files_inside(run_folder):
            total += found.num_bytes
            if found.parts[0] == CHECKPOINTS_FOLDER and len(found.parts) > 1:
                step = checkpoint_step(found.parts[1])
                if step is not None:
                    checkpoints[step] = checkpoints.get(step, 0) + found.num_bytes
    sizes = [CheckpointSize(step=step, num_bytes=num_bytes) for step, num_bytes in sorted(checkpoints.items())]
    return FolderSize(run_id=run_id, num_bytes=total, checkpoints=sizes)
