"""Edits name, tags and notes of a run, archives it, moves it to the trash and takes it out again."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.files.storage import deletion
from backend.files.storage.repository import folder_notice
from backend.fleet.control.transitions import set_priority
from backend.identity.audit.repository import add_audit
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.events import announce_deletion, announce_status
from backend.kit.principal import Principal
from backend.models import Run
from backend.runs import states
from backend.runs.access import require
from backend.settings.environment import Settings
from bapo.api.runs import RunUpdate


def update(session: Session, run: Run, changes: RunUpdate, caller: Principal) -> None:
    """Name, tags, notes, priority, and whether the run is archived. Raises Problem 409 for one that cannot be."""
    if changes.archived is not None:
        archive(session, run, caller, is_archived=changes.archived)
    if changes.priority is not None:
        set_priority(session, run, changes.priority, caller)
    fields = {
        "name": (run.name, changes.name),
        # Each once, in the order given.
        "tags": (run.tags, None if changes.tags is None else list(dict.fromkeys(changes.tags))),
        "notes": (run.notes, changes.notes),
    }
    edited = {field: new for field, (old, new) in fields.items() if new is not None and new != old}
    if not edited:
        return
    # The audit trail need not repeat long notes.
    noted = {field: fields[field][0] if field != "notes" else "…" for field in edited}
    for field, value in edited.items():
        setattr(run, field, value)
    add_audit(session, run.id, caller.name, "edited", {"before": noted})
    announce_status(session, run)


def archive(session: Session, run: Run, caller: Principal, *, is_archived: bool) -> None:
    """Put a run away, or take it out again. Raises Problem 409 where something will happen to it by itself."""
    if is_archived == (run.archived_at is not None):
        return
    if is_archived and run.status not in states.ARCHIVABLE:
        remedy = f"a {run.status.value} run cannot be archived: stop or pause it first"
        raise Problem(409, "illegal_transition", remedy, field="status", value=run.status.value)
    run.archived_at = clock(session) if is_archived else None
    add_audit(session, run.id, caller.name, "archived" if is_archived else "unarchived", {})
    announce_status(session, run)


def trash(session: Session, run: Run, caller: Principal, settings: Settings) -> None:
    """Move a draft or an ended run to the trash; where that keeps nothing, delete it."""
    if not settings.trash_days:
        purge(session, run, caller)
        return
    require(run, "delete")
    run.trashed_at, run.trashed_by = clock(session), caller.name
    add_audit(session, run.id, caller.name, "trashed", {"name": run.name})
    announce_deletion(session, run.id)


def restore(session: Session, run: Run, caller: Principal) -> str | None:
    """Take a run out of the trash; what it lacks, if anything. Raises Problem 409 for one that is not in it."""
    if run.trashed_at is None:
        raise Problem(
            409, "not_in_trash", "the run is not in the trash: there is nothing to restore", field="id", value=run.id
        )
    run.trashed_at, run.trashed_by = None, None
    add_audit(session, run.id, caller.name, "restored", {"name": run.name})
    announce_status(session, run)
    return folder_notice(session, run)


def purge(session: Session, run: Run, caller: Principal) -> None:
    """Delete a draft or an ended run with all that it has recorded, its downloads and its folder."""
    require(run, "delete")
    deletion.delete_run(session, run, caller.name)
