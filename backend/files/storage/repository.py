"""SQL of the sizes of runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, Table, func, literal, or_, select, text, union_all
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute, Session, defer

from backend.kit.database import seconds_from_now
from backend.models import (
    Artifact,
    Base,
    FolderDeletion,
    LogPiece,
    MetricChunk,
    MetricKey,
    MetricTail,
    PromptText,
    Run,
    RunStar,
    RunStorage,
    Sample,
    SparseRecord,
    StepRow,
    StreamRow,
    User,
)
from backend.runs import states
from bapo.api.runs import TERMINAL_STATUSES

RECORD_TABLES: tuple[type[Base], ...] = (
    *(StepRow, MetricTail, MetricChunk, MetricKey, SparseRecord, Sample, PromptText, LogPiece, StreamRow),
)
"""Tables with a run's data, except for a few small rows."""
ROW_BYTES = 28
"""Header of a row and its place on the page."""
ACTIVE_SECONDS = 60.0
"""Between two measurements of a running run."""
MEASURED_AT_ONCE = 20


def mark_folders_due(session: Session) -> None:
    """Mark the folders that have changed, or may have changed, since they were measured."""
    changed = _changed_since(RunStorage.folder_measured_at)
    due = (
        select(Run.id, literal(True))
        .join(RunStorage, RunStorage.run_id == Run.id, isouter=True)
        .where(Run.host.is_not(None), changed, func.coalesce(RunStorage.is_folder_due, False).is_(False))
        .order_by(Run.id)  # All writers lock rows in the order of run IDs, which prevents deadlocks.
    )
    query = insert(RunStorage).from_select(["run_id", "is_folder_due"], due)
    session.execute(query.on_conflict_do_update(index_elements=["run_id"], set_={"is_folder_due": True}))


def _changed_since(measured: InstrumentedAttribute[datetime | None]) -> ColumnElement[bool]:
    return or_(
        measured.is_(None),
        Run.finished_at > measured,
        Run.status.in_(states.ACTIVE) & (measured < seconds_from_now(-ACTIVE_SECONDS)),
    )


def measure_records(session: Session) -> None:
    """Measure what some runs take up in the database that have changed since they were measured."""
    run_ids = _to_measure(session)
    if not run_ids:
        return
    parts = [_bytes_of(table.__table__, run_ids) for table in RECORD_TABLES if isinstance(table.__table__, Table)]
    union = union_all(*parts).subquery()
    query = select(union.c.run_id, func.sum(union.c.bytes)).group_by(union.c.run_id)
    sizes = {run_id: int(num_bytes) for run_id, num_bytes in session.execute(query)}
    for run_id in sorted(run_ids):
        changes = {"database_bytes": sizes.get(run_id, 0), "database_measured_at": func.now()}
        row = insert(RunStorage).values(run_id=run_id, **changes)
        session.execute(row.on_conflict_do_update(index_elements=["run_id"], set_=changes))


def _to_measure(session: Session) -> Sequence[str]:
    measured = RunStorage.database_measured_at
    query = (
        select(Run.id)
        .join(RunStorage, RunStorage.run_id == Run.id, isouter=True)
        .where(_changed_since(measured))
        .order_by(measured.nulls_first())
        .limit(MEASURED_AT_ONCE)
        .with_for_update(of=Run, key_share=True, skip_locked=True)
    )
    return session.scalars(query).all()


def _bytes_of(table: Table, run_ids: Sequence[str]) -> Select[str, int]:
    """Return the bytes of the rows of these runs, compressed as they lie on disk."""
    row: ColumnElement[int] = literal(ROW_BYTES)
    for column in table.columns:
        row = row + func.coalesce(func.pg_column_size(column), 0)
    query = select(table.c.run_id, func.sum(row).label("bytes"))
    return query.where(table.c.run_id.in_(run_ids)).group_by(table.c.run_id)


def folder_notice(session: Session, run: Run) -> str | None:
    """Return a notice of what a restored run lacks, as far as its folder is measured; have it measured again."""
    storage = session.get(RunStorage, run.id)
    if run.host is None or storage is None:
        return None
    storage.is_folder_due = True
    if storage.folder_measured_at is None or storage.folder_bytes:
        return None
    return (
        f"its folder is no longer on {run.host}: records, charts and responses are complete, checkpoints are gone, and "
        "it can be cloned but not continued"
    )


# ---------------------------------------------------------------- for administrators


class SpaceRow(NamedTuple):
    """A run and its size."""

    run: Run
    owner: str
    storage: RunStorage | None
    artifact_bytes: int
    num_bytes: int
    is_kept: bool


def largest(session: Session, limit: int) -> list[SpaceRow]:
    """Return the runs that take up most."""
    artifacts = _artifact_bytes().subquery()
    of_artifacts = func.coalesce(artifacts.c.bytes, 0)
    total = func.coalesce(RunStorage.folder_bytes, 0) + func.coalesce(RunStorage.database_bytes, 0) + of_artifacts
    starred = select(RunStar.run_id).where(RunStar.run_id == Run.id).exists()
    query = (
        select(Run, User.name, RunStorage, of_artifacts, total, or_(starred, Run.tags.contains(["keep"])))
        .join(User, User.id == Run.owner_id)
        .join(RunStorage, RunStorage.run_id == Run.id, isouter=True)
        .join(artifacts, artifacts.c.run_id == Run.id, isouter=True)
        .options(defer(Run.config), defer(Run.explicit), defer(Run.diff), defer(Run.search_text))
        .order_by(total.desc(), Run.id)
        .limit(limit)
    )
    return [
        SpaceRow(run, owner, storage, int(artifact_bytes), int(num_bytes), kept)
        for run, owner, storage, artifact_bytes, num_bytes, kept in session.execute(query)
    ]


def _artifact_bytes() -> Select[str, int | None]:
    query = select(Artifact.run_id, func.sum(Artifact.num_bytes).label("bytes"))
    return query.where(Artifact.state == "ready").group_by(Artifact.run_id)


class Totals(NamedTuple):
    """Total sizes of all runs."""

    num_runs: int
    folder_bytes: int
    record_bytes: int
    artifact_bytes: int
    num_trashed: int
    trash_bytes: int


def totals(session: Session) -> Totals:
    """Return the total measured sizes of all runs, and of those in the trash."""
    num_runs = session.scalars(select(func.count()).select_from(Run)).one()
    sums = select(func.sum(RunStorage.folder_bytes), func.sum(RunStorage.database_bytes))
    folder_bytes, record_bytes = session.execute(sums).one()
    artifacts = select(func.sum(Artifact.num_bytes)).where(Artifact.state == "ready")
    downloads = _artifact_bytes().subquery()
    parts = (RunStorage.folder_bytes, RunStorage.database_bytes, downloads.c.bytes)
    of_trash = (
        select(func.count(), *(func.coalesce(func.sum(part), 0) for part in parts))
        .select_from(Run)
        .join(RunStorage, RunStorage.run_id == Run.id, isouter=True)
        .join(downloads, downloads.c.run_id == Run.id, isouter=True)
        .where(Run.trashed_at.is_not(None))
    )
    num_trashed, *trash_bytes = session.execute(of_trash).one()
    return Totals(
        num_runs,
        int(folder_bytes or 0),
        int(record_bytes or 0),
        int(session.scalars(artifacts).one() or 0),
        num_trashed,
        sum(map(int, trash_bytes)),
    )


def database_bytes(session: Session) -> int:
    """Return the whole database on disk."""
    return int(session.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


def record_tables_bytes(connection: Connection) -> int:
    """Return the tables of records on disk, with their indexes and free space."""
    query = text("SELECT sum(pg_total_relation_size(CAST(name AS regclass))) FROM unnest(CAST(:names AS text[])) name")
    names = [table.__tablename__ for table in RECORD_TABLES]
    return int(connection.execute(query, {"names": names}).scalar_one())


def pending_deletions(session: Session) -> Sequence[FolderDeletion]:
    """Return the deletions that workers have yet to make, oldest first."""
    return session.scalars(select(FolderDeletion).order_by(FolderDeletion.id).limit(1_000)).all()


def waiting_forks(run_id: ColumnElement[str] | str) -> Select[str]:
    """Return the query of forks that have not gone beyond the checkpoint of this run that they begin with."""
    begun = Run.step > func.coalesce(Run.fork_step, 0)
    query = select(Run.id).where(Run.forked_from == run_id, ~begun, Run.status.not_in(TERMINAL_STATUSES))
    return query.execution_options(all_projects=True)
