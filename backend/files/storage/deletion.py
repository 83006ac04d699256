"""Deletes runs: records at once, files by the server, folders by a worker on their machine."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.files.storage.repository import waiting_forks
from backend.identity.audit.repository import add_audit
from backend.kit.errors import Problem, existing
from backend.kit.principal import Principal
from backend.models import Artifact, FolderDeletion, Run, RunStorage, Sample
from backend.runs import repository as runs
from backend.runs import states
from backend.runs.checkpoints import service as checkpoints
from bapo.api.storage import DeletionItem, DeletionPreview


def delete_run(session: Session, run: Run, author: str) -> None:
    """Forget a run with everything that it recorded, and have the rest deleted. The run must be locked."""
    detail = {
        "run_id": run.id,
        "name": run.name,
        "steps": run.step,
        "bytes": _bytes(session.get(RunStorage, run.id)) + _artifact_bytes(session, run.id),
    }
    add_audit(session, None, author, "deleted", detail)
    if run.host is not None:
        leave_to_worker(session, run, "folder", author)
    runs.delete_run(session, run)


def leave_to_worker(session: Session, run: Run, part: str, author: str) -> None:
    """Request that a worker of the run's machine deletes its folder, or a part of it."""
    session.add(FolderDeletion(run_id=run.id, run_name=run.name, part=part, host=run.host, author=author))


def preview(session: Session, run_ids: Sequence[str], caller: Principal, trash_days: float) -> DeletionPreview:
    """Return what a deletion would remove. Raises Problem 404 for a missing run."""
    items = [_item(session, _run(session, run_id), caller) for run_id in dict.fromkeys(run_ids)]
    num_bytes = sum(item.num_bytes for item in items if item.refusal is None)
    return DeletionPreview(items=items, num_bytes=num_bytes, trash_days=trash_days)


def _run(session: Session, run_id: str) -> Run:
    # A query, not the identity map: what is elsewhere does not exist for the caller.
    return existing(session.scalars(select(Run).where(Run.id == run_id)).one_or_none(), "run", run_id)


def _item(session: Session, run: Run, caller: Principal) -> DeletionItem:
    refusal = None
    if not caller.may_change(run):
        refusal = "only its owner and administrators may delete a run"
    elif "delete" not in states.actions_of(run):
        refusal = f"a {run.status.value} run cannot be deleted: stop it first"
    children = session.scalars(select(Run.id).where(Run.parent_id == run.id).order_by(Run.created_at)).all()
    return DeletionItem(
        run_id=run.id,
        name=run.name,
        refusal=refusal,
        num_steps=run.step,
        num_samples=_count(session, Sample, run.id),
        num_checkpoints=len(checkpoints.kept(session, run)),
        num_artifacts=_count(session, Artifact, run.id),
        num_bytes=_bytes(session.get(RunStorage, run.id)) + _artifact_bytes(session, run.id),
        children=children,
        waiting_forks=session.scalars(waiting_forks(run.id)).all(),
    )


def _count(session: Session, table: type[Sample] | type[Artifact], run_id: str) -> int:
    return session.scalars(select(func.count()).select_from(table).where(table.run_id == run_id)).one()


def _bytes(storage: RunStorage | None) -> int:
    return 0 if storage is None else (storage.folder_bytes or 0) + (storage.database_bytes or 0)


def _artifact_bytes(session: Session, run_id: str) -> int:
    query = select(func.sum(Artifact.num_bytes)).where(Artifact.run_id == run_id, Artifact.state == "ready")
    return int(session.scalars(query).one() or 0)


def give_up(session: Session, deletion_id: int, author: str) -> None:
    """Forget a deletion that no worker will carry out. Raises Problem 404 where there is none."""
    found = session.get(FolderDeletion, deletion_id, with_for_update=True)
    if found is None:
        raise Problem(
            404, "not_found", "there is no such deletion: it may be complete", field="deletion_id", value=deletion_id
        )
    detail = {"run_id": found.run_id, "name": found.run_name, "part": found.part, "host": found.host}
    add_audit(session, None, author, "deletion_given_up", detail)
    session.delete(found)
