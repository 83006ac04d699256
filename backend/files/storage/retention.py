"""Retention rules: never applied to a run that is active, starred or tagged `keep`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from sqlalchemy import ColumnElement, Select, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.files.storage import deletion
from backend.identity.audit.repository import add_audit
from backend.kit.database import Database, seconds_from_now
from backend.models import Artifact, LogPiece, Run, RunStar, RunStorage, Sample
from backend.runs import lifecycle
from backend.settings.environment import Settings
from bapo.api.runs import TERMINAL_STATUSES, RunStatus
from bapo.api.storage import RetainedPart, RetentionRule

LOG = logging.getLogger(__name__)

KEEP_TAG = "keep"
BATCH = 20
"""Runs of one round, each in a separate transaction."""
SHOWN = 100
_DAY_SECONDS = 86_400.0
_DELETABLE = frozenset({RunStatus.DRAFT, *TERMINAL_STATUSES})


def days_of(settings: Settings) -> Mapping[RetainedPart, float | None]:
    """Return after how many days each part is deleted."""
    return {
        "samples": settings.retention_samples_days,
        "log": settings.retention_log_days,
        "checkpoints": settings.retention_checkpoints_days,
        "archived": settings.retention_archived_days,
        "trash": settings.trash_days,
        "artifacts": settings.artifact_days,
    }


def plan(session: Session, settings: Settings) -> list[RetentionRule]:
    """Return what the next rounds would delete. Deletes nothing."""
    rules = []
    for part, days in days_of(settings).items():
        due: Sequence[str] = ()
        number = 0
        if days is not None:
            query = _expired_artifacts() if part == "artifacts" else _due(part, days)
            number = session.scalars(select(func.count()).select_from(query.subquery())).one()
            due = session.scalars(query.limit(SHOWN)).all()
        rules.append(RetentionRule(part=part, days=days, num_due=number, due=due))
    return rules


def is_kept() -> ColumnElement[bool]:
    """Return whether a run is exempt from retention."""
    starred = select(RunStar.run_id).where(RunStar.run_id == Run.id).exists()
    return or_(starred, Run.tags.contains([KEEP_TAG]))


def carry_out(database: Database, settings: Settings) -> int:
    """Apply the rules to one small batch of each part. Returns the number of runs from which something was deleted."""
    number = 0
    for part, days in days_of(settings).items():
        if days is None or part == "artifacts":
            continue
        with database.session() as session:
            due = session.scalars(_due(part, days).limit(BATCH)).all()
        for run_id in due:
            with database.session() as session, session.begin():
                # Checked again under the lock: a user may have starred the run meanwhile.
                query = _due(part, days).where(Run.id == run_id).with_for_update(of=Run)
                if session.scalars(query).one_or_none() is None:
                    continue
                run = session.get_one(Run, run_id, populate_existing=True)
                _TAKE[part](session, run)
                number += 1
            LOG.info("retention", extra={"run_id": run_id, "part": part})
    return number


def _due(part: RetainedPart, days: float) -> Select[str]:
    if part == "trash":
        # A user moved it there on purpose: neither star nor tag keeps it.
        due = Run.trashed_at < seconds_from_now(-days * _DAY_SECONDS)
        return select(Run.id).where(due, Run.status.in_(_DELETABLE)).order_by(Run.trashed_at)
    since = Run.archived_at if part == "archived" else Run.finished_at
    query = (
        select(Run.id)
        .join(RunStorage, RunStorage.run_id == Run.id, isouter=True)
        .where(since < seconds_from_now(-days * _DAY_SECONDS), Run.trashed_at.is_(None), ~is_kept())
        .order_by(since)
    )
    match part:
        case "archived":
            return query.where(Run.status.in_(_DELETABLE))
        case "samples":
            done = RunStorage.samples_deleted_at
        case "log":
            done = RunStorage.log_deleted_at
        case _:
            done = RunStorage.checkpoints_deleted_at
            query = query.where(Run.host.is_not(None))
    return query.where(Run.status.in_(TERMINAL_STATUSES), done.is_(None))


def _expired_artifacts() -> Select[str]:
    return select(Artifact.id).where(Artifact.state == "ready", Artifact.expires_at < func.now())


def _take_samples(session: Session, run: Run) -> None:
    session.execute(delete(Sample).where(Sample.run_id == run.id))
    _note(session, run, "samples")


def _take_log(session: Session, run: Run) -> None:
    session.execute(delete(LogPiece).where(LogPiece.run_id == run.id))
    _note(session, run, "log")


def _take_checkpoints(session: Session, run: Run) -> None:
    _note(session, run, "checkpoints")


def _note(session: Session, run: Run, part: str) -> None:
    """Say in the run's own history what is gone, and have its machine delete it too."""
    changes = {f"{part}_deleted_at": func.now(), "database_measured_at": None}
    query = insert(RunStorage).values(run_id=run.id, **changes)
    session.execute(query.on_conflict_do_update(index_elements=["run_id"], set_=changes))
    if run.host is not None:
        deletion.leave_to_worker(session, run, part, lifecycle.SYSTEM)
    add_audit(session, run.id, lifecycle.SYSTEM, "retention", {"deleted": part})


def _take_run(session: Session, run: Run) -> None:
    deletion.delete_run(session, run, run.trashed_by or lifecycle.SYSTEM)


_TAKE: Mapping[str, Callable[[Session, Run], None]] = MappingProxyType(
    {
        "samples": _take_samples,
        "log": _take_log,
        "checkpoints": _take_checkpoints,
        "archived": _take_run,
        "trash": _take_run,
    }
)
