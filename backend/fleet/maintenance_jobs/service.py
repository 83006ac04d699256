"""Assigns maintenance jobs to workers. Reports may be repeated."""

from __future__ import annotations

from typing import cast

from sqlalchemy.orm import Session

from backend.files.artifacts import repository as artifacts
from backend.fleet.maintenance_jobs import repository
from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.models import Chat, Worker
from backend.readings.chats import repository as chats
from backend.runs.checkpoints.service import fork_source
from backend.settings.environment import Settings
from backend.workers.repository import num_held
from bapo.api.maintenance_jobs import (
    ChatJob,
    DeleteJob,
    DeletionOutcome,
    FolderPart,
    FolderSize,
    MaintenanceJobs,
    MeasureJob,
    PackJob,
)
from bapo.run.artifacts import ArtifactKind

MAX_PACKED = 1
"""An upload takes all that the line gives."""
MAX_DELETED = 20
MAX_MEASURED = 50


def has_jobs(session: Session, worker: Worker, settings: Settings) -> bool:
    """Return whether the worker should ask for its jobs."""
    return repository.any_for(session, worker, is_shared=settings.runs_dir_shared, fresh_seconds=settings.fresh_seconds)


def take(session: Session, worker: Worker, settings: Settings) -> MaintenanceJobs:
    """Hand the worker what there is to do for it."""
    shared = settings.runs_dir_shared
    packing = artifacts.to_pack(
        session, worker, is_shared=shared, fresh_seconds=settings.fresh_seconds, limit=MAX_PACKED
    )
    for artifact in packing:
        artifact.state = "preparing"
        artifact.worker_id = worker.id
        artifact.reason = f"{worker.name} is packing it"
    chat = chats.to_answer(session, worker, is_shared=shared, fresh_seconds=settings.fresh_seconds)
    if chat is not None:
        chat.state, chat.worker_id, chat.reason = "answering", worker.id, f"{worker.name} is answering"
    return MaintenanceJobs(
        pack=[
            PackJob(
                artifact_id=each.id,
                run_dir=str(settings.runs_dir / each.run_id),
                kind=cast(ArtifactKind, each.kind),
                step=each.step,
                file_name=each.file_name,
            )
            for each in packing
        ],
        delete=[
            DeleteJob(
                deletion_id=each.id, run_dir=str(settings.runs_dir / each.run_id), part=cast(FolderPart, each.part)
            )
            for each in repository.deletions(session, worker, is_shared=shared, limit=MAX_DELETED)
        ],
        measure=[
            MeasureJob(
                run_id=run.id,
                run_dir=str(settings.runs_dir / run.id),
                fork=fork_source(run, settings) if run.attempt == 0 else None,
            )
            for run in repository.to_measure(session, worker, is_shared=shared, limit=MAX_MEASURED)
        ],
        chat=[] if chat is None else [_chat_job(session, worker, chat, settings)],
    )


def _chat_job(session: Session, worker: Worker, chat: Chat, settings: Settings) -> ChatJob:
    return rendered(
        ChatJob,
        chat,
        chat_id=chat.id,
        run_dir=str(settings.runs_dir / chat.run_id),
        is_training=num_held(session, worker) > 0,
    )


def note_deletion(
    session: Session, worker: Worker, deletion_id: int, outcome: DeletionOutcome, settings: Settings
) -> None:
    """Remove a deletion that is done; schedule a retry of one that failed."""
    deletion = repository.deletion(session, deletion_id, worker, is_shared=settings.runs_dir_shared)
    if deletion is None:
        return
    if outcome.reason is None:
        session.delete(deletion)
        return
    deletion.num_tries += 1
    deletion.tried_at = clock(session)
    deletion.reason = outcome.reason


def note_sizes(session: Session, worker: Worker, sizes: list[FolderSize], settings: Settings) -> None:
    """Keep what a worker measured."""
    # By run ID, as all that write several rows do: no two wait for each other.
    for size in sorted(sizes, key=lambda each: each.run_id):
        checkpoints = [{"step": each.step, "bytes": each.num_bytes} for each in size.checkpoints]
        repository.note_size(
            session, worker, size.run_id, size.num_bytes, checkpoints, is_shared=settings.runs_dir_shared
        )
