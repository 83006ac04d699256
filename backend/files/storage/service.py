"""Reports storage use to administrators, and compacts the database."""

from __future__ import annotations

from sqlalchemy import Engine, text
from sqlalchemy.orm import Session

from backend.files.storage import repository, retention
from backend.kit.bodies import rendered
from backend.settings.environment import Settings
from bapo.api.storage import CompactReport, PendingDeletion, RunSpace, StorageState

LOCK_SECONDS = 10
"""Time for which compacting waits for a table that is being written to, in seconds."""


def state(session: Session, settings: Settings, limit: int) -> StorageState:
    """Return all of it, the largest runs first."""
    totals = repository.totals(session)
    return StorageState(
        runs=[
            rendered(
                RunSpace,
                row,
                row.run,
                run_id=row.run.id,
                folder_bytes=None if row.storage is None else row.storage.folder_bytes,
                checkpoint_bytes=_checkpoint_bytes(row),
                database_bytes=None if row.storage is None else row.storage.database_bytes,
            )
            for row in repository.largest(session, limit)
        ],
        num_runs=totals.num_runs,
        folder_bytes=totals.folder_bytes,
        record_bytes=totals.record_bytes,
        database_bytes=repository.database_bytes(session),
        artifact_bytes=totals.artifact_bytes,
        artifact_quota_bytes=settings.artifact_quota_bytes,
        num_trashed=totals.num_trashed,
        trash_bytes=totals.trash_bytes,
        deletions=[rendered(PendingDeletion, each) for each in repository.pending_deletions(session)],
        retention=retention.plan(session, settings),
    )


def _checkpoint_bytes(row: repository.SpaceRow) -> int | None:
    if row.storage is None or row.storage.checkpoints is None:
        return None
    return sum(int(each["bytes"]) for each in row.storage.checkpoints)


def compact(engine: Engine) -> CompactReport:
    """Rewrite the tables of records one after the other without their free space.

    Deleted rows leave space that PostgreSQL uses again but does not give back to the disk, least of all that of long
    values, which PostgreSQL stores in separate tables. Writers to a table wait while it is being compacted.
    """
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        before = repository.record_tables_bytes(connection)
        connection.execute(text(f"SET lock_timeout = '{LOCK_SECONDS}s'"))
        for table in repository.RECORD_TABLES:
            connection.execute(text(f"VACUUM (FULL, ANALYZE) {table.__tablename__}"))
        connection.execute(text("RESET lock_timeout"))
        after = repository.record_tables_bytes(connection)
    return CompactReport(before_bytes=before, after_bytes=after)
